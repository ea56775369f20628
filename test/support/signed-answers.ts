import type { Issuer } from './issuer.ts';

/** Any answer of an introspection endpoint. */
export interface RawAnswer {
  readonly status?: number;
  readonly type?: string;
  readonly text: string;
}

/** A request to the introspection endpoint. */
export interface Question {
  readonly token: string;
  readonly accept: string | undefined;
  readonly form: URLSearchParams;
}

/** Sets the answers of an issuer's introspection endpoint. Returns the list of its requests. */
export function answerIntrospection(
  issuer: Issuer,
  answer: (token: string) => RawAnswer | Promise<RawAnswer>,
): readonly Question[] {
  const asked: Question[] = [];
  issuer.intercept = (request, response, body) => {
    if (request.url !== '/introspect') return false;
    const form = new URLSearchParams(body);
    const token = form.get('token') ?? '';
    asked.push({ token, accept: request.headers.accept, form });
    void (async () => {
      const { status = 200, type = 'application/json', text } = await answer(token);
      response.writeHead(status, status === 204 ? {} : { 'content-type': type }).end(text);
    })();
    return true;
  };
  return asked;
}

/** RFC 9701 §5: a JWT about `claims`, for the client `gateway`. */
export async function statement(
  issuer: Issuer,
  claims: unknown,
  { outer = {}, header = {}, key = issuer.key }: SignedOptions = {},
): Promise<RawAnswer> {
  const payload = { iss: issuer.url, sub: undefined, exp: undefined, aud: 'gateway', token_introspection: claims };
  const text = await issuer.sign(
    { ...payload, ...outer },
    { key, header: { typ: 'token-introspection+jwt', ...header } },
  );
  return { type: 'application/token-introspection+jwt; charset=utf-8', text };
}

interface SignedOptions {
  /** Beside `token_introspection`; undefined leaves a claim out. */
  readonly outer?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly key?: Issuer['key'];
}
