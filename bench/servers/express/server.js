// A typical complete proxy on Node: Express, Auth0's token validation, http-proxy-middleware.
import { Agent } from 'node:http';
import express from 'express';
import { auth, claimEquals, requiredScopes } from 'express-oauth2-jwt-bearer';
import { createProxyMiddleware } from 'http-proxy-middleware';

const { PORT, UPSTREAM, ISSUER, AUDIENCE, JWKS } = process.env;
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
const app = express();
app.use(auth({ issuer: ISSUER, jwksUri: JWKS, audience: AUDIENCE, tokenSigningAlg: 'RS256' }));
app.use(requiredScopes('read'), claimEquals('tenant', 'acme'));
app.use(createProxyMiddleware({ target: UPSTREAM, agent }));
app.use((error, _request, response, _next) =>
  response
    .status(error.status ?? 500)
    .set(error.headers)
    .end(),
);
app.listen(Number(PORT), '127.0.0.1');
