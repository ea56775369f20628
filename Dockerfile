# Two images from one file: the gateway (the default), and the demo's other servers (`--target demo`).
# Node would run the sources as they are; the gateway's is a bundle of them, which starts in half the time (docs/internals/adr/0008).

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# No package of ours needs a script to install; none gets to run one.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# What is in the image beside the base: CycloneDX.
COPY deploy/sbom.ts ./deploy/
RUN node deploy/sbom.ts > sbom.cdx.json

FROM node:24-slim AS development
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY src ./src

# The pages of the console.
FROM development AS console
COPY schema ./schema
COPY tsconfig.json ./
COPY console ./console
RUN npm run generate

FROM development AS bundle
COPY deploy/bundle.config.ts ./deploy/
COPY schema ./schema
RUN npm run schemas && npm run bundle

FROM development AS demo
COPY demo ./demo
USER node
# docker-compose.yml says which one.
CMD ["node", "demo/backend.ts"]

FROM node:24-slim AS gateway
ENV NODE_ENV=production
WORKDIR /app
# Not run: for scanners, and the licences of what is in the bundle.
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=dependencies /app/sbom.cdx.json ./
COPY package.json ./
COPY schema ./schema
# What is made of the fragments of capabilities and of parts of the policy language.
COPY --from=bundle /app/schema/gateway.schema.json /app/schema/policy.schema.json ./schema/
COPY templates ./templates
COPY --from=bundle /app/bundle ./bundle
COPY --from=console /app/console/built ./console/built
# The user `node`, as a number: Kubernetes asks whether it is root.
RUN install -d -o 1000 -g 1000 node_modules/.cache
USER 1000:1000
# Runs once, for the compile cache: a container starts in half the time with it, and may well be read-only then.
RUN timeout --preserve-status 10 node bundle/main.js serve --config templates/gateway.yaml
# Clients; and metrics, health and console, for operators only.
EXPOSE 8080 9090
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9090/healthz').then(r=>process.exit(+!r.ok))"]
# gateway.yaml and policies/ are here. Mount the folder: of a single mounted file, an edit that renames is never seen.
WORKDIR /config
ENTRYPOINT ["node", "/app/bundle/main.js"]
CMD ["serve"]
