/**
 * The decisions of the AuthZEN working group's test for API gateways (openid/authzen, interop/authzen-api-gateways): a
 * to-do application behind the gateway, and a decision point with its policy.
 */
import { beforeAll, expect, test } from 'vitest';
import { hasDuplicateMembers } from '../../src/core/lib/json/scanner.ts';
import { json, startPdp } from '../support/decision-point.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';

type Role = 'admin' | 'editor' | 'viewer';

/** The subjects of the scenario, as they stand in its requests, and their roles in the application. */
const subjects: readonly (readonly [id: string, role: Role])[] = [
  ['CiRmZDA2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs', 'admin'],
  ['CiRmZDE2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs', 'editor'],
  ['CiRmZDI2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs', 'editor'],
  ['CiRmZDM2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs', 'viewer'],
  ['CiRmZDQ2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs', 'viewer'],
];

/** Its requests, by their path in the application, and the roles that it lets pass. */
const allRoles: readonly Role[] = ['admin', 'editor', 'viewer'];
const writers: readonly Role[] = ['admin', 'editor'];
const requests: readonly (readonly [method: string, path: string, roles: readonly Role[]])[] = [
  ['GET', '/users/CiRmZDA2', allRoles],
  ['GET', '/todos', allRoles],
  ['POST', '/todos', writers],
  ['PUT', '/todos/7240d0db', writers],
  ['DELETE', '/todos/7240d0db', writers],
];

/** The routes of the application. The gateway sends the path: the decision point knows the templates. */
const templates: readonly (readonly [pattern: RegExp, route: string])[] = [
  [/^\/users\/[^/]+$/, '/users/{userId}'],
  [/^\/todos$/, '/todos'],
  [/^\/todos\/[^/]+$/, '/todos/{todoId}'],
];
const allowedTo: Readonly<Record<string, readonly Role[]>> = {
  'GET /users/{userId}': allRoles,
  'GET /todos': allRoles,
  'POST /todos': writers,
  'PUT /todos/{todoId}': writers,
  'DELETE /todos/{todoId}': writers,
};
const roleOf = new Map(subjects);

interface Evaluation {
  readonly subject?: { readonly type?: unknown; readonly id?: string };
  readonly action?: { readonly name?: string };
  readonly resource?: { readonly type?: unknown; readonly id?: string };
}

const pdp = startBeforeAll(startPdp);
const world = startBeforeAll(() =>
  startWorld({
    top: `decision_points: { todo: { url: "${pdp.server.url}", timeout: 10s } }`,
    routes: ['name: todo, path: /, audience: todo, decision_point: todo, upstream: { url: "UPSTREAM" }'],
  }),
);
beforeAll(() => {
  // As strict as the standard allows: a member of the wrong form is a 400, and no decision.
  pdp.evaluation = (request, response, body) => {
    const asked = JSON.parse(body) as Evaluation;
    const texts = [
      asked.subject?.type,
      asked.subject?.id,
      asked.action?.name,
      asked.resource?.type,
      asked.resource?.id,
    ];
    const isWellFormed = !hasDuplicateMembers(body, asked) && texts.every((text) => typeof text === 'string');
    const { 'x-request-id': id = '', 'content-type': type } = request.headers;
    if (!isWellFormed || type !== 'application/json' || id === '') {
      json(400, '"malformed"')(request, response, body);
      return;
    }
    const [, route] = templates.find(([pattern]) => pattern.test(asked.resource?.id ?? '')) ?? [];
    const role = roleOf.get(asked.subject?.id ?? '');
    const decision = role !== undefined && allowedTo[`${asked.action?.name} ${route}`]?.includes(role) === true;
    json(200, { decision }, { 'x-request-id': String(id) })(request, response, body);
  };
});

test.for(subjects.flatMap(([id, role]) => requests.map((request) => ({ id, role, request }))))(
  'R-334: AuthZEN gateways: $role $id: $request.0 $request.1',
  async ({ id, role, request: [method, path, roles] }) => {
    const reached = world.upstream.seen.length;
    const token = await world.token({ sub: id, aud: 'todo' });
    const isAllowed = roles.includes(role);
    expect((await world.send(path, { token, method })).status).toBe(isAllowed ? 200 : 403);
    expect(world.upstream.seen).toHaveLength(isAllowed ? reached + 1 : reached);
    expect(JSON.parse(pdp.questions().at(-1)?.body ?? '')).toMatchObject({
      subject: { type: 'identity', id },
      action: { name: method },
      resource: { type: 'path', id: path },
    });
  },
);

test('R-334: AuthZEN gateways: a subject and a route that the decision point does not know are denied', async () => {
  const send = async (sub: string, path: string): Promise<number> =>
    (await world.send(path, { token: await world.token({ sub, aud: 'todo' }) })).status;
  expect(await send('stranger', '/todos')).toBe(403);
  expect(await send(subjects[0]?.[0] ?? '', '/todos/1/comments')).toBe(403);
});
