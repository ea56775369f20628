/**
 * Spans around the steps of a gateway. Without traces in the configuration, or for a call that is not recorded, the
 * steps stay as they are.
 *
 * @module
 */

import type { ServerResponse } from 'node:http';
import type { TraceContext } from '../../core/lib/http/trace.ts';
import { createIsWithin } from '../../core/lib/ip-address.ts';
import type { Call } from '../../core/model/call.ts';
import type { CredentialSource } from '../../core/model/gate.ts';
import type { Action } from '../../core/model/grant.ts';
import type { KnownCall, Outcome } from '../../core/model/outcome.ts';
import { calledTool } from '../../core/model/policy.ts';
import { isRoute } from '../../core/model/route.ts';
import type { Endpoint } from '../../core/model/endpoint.ts';
import type { Span, SpanAttributes, Tracer } from './span.ts';
import type { Gateway, Stages } from '../../core/gateway/pipeline.ts';
import type { TracedGateway } from '../capability.ts';
import { serverAddress } from './traced-client.ts';
import { Denial } from '../../core/model/denial.ts';

interface Recorded {
  readonly span: Span;
  readonly response: ServerResponse;
}

/**
 * Lets the calls of a gateway take part in traces. The span of a call ends with its answer; the span of a stream with
 * the stream.
 */
export function traceGateway(
  gateway: Gateway,
  tracer: Tracer,
  { publicUrl, trusted, forwards }: TracedGateway,
): Gateway {
  const isTrusted = createIsWithin(trusted);
  const own = { 'url.scheme': new URL(publicUrl).protocol.slice(0, -1), ...serverAddress(publicUrl) };
  const recorded = new WeakMap<object, Recorded>();
  /**
   * The trace that the MCP message of a call names, by the context that was begun for the call. It has only calls whose
   * request names no trace.
   */
  const messageTraces = new WeakMap<object, TraceContext | undefined>();

  function recordedOf({ trace }: Pick<KnownCall, 'trace'>): Recorded | undefined {
    return trace === undefined ? undefined : recorded.get(trace);
  }

  /** The stages of a call. If its request names no trace, its spans join the trace of its MCP message (SEP-414). */
  function followingMessage(stages: Stages, { trace }: Call, span: Span | undefined): Stages {
    if (trace === undefined || !messageTraces.has(trace)) return stages;
    if (stages.route.protocol === 'http') {
      span?.settle();
      return stages;
    }
    const begun = trace;
    const follow = (action: Action): Action => {
      if (action.trace === undefined) span?.settle();
      else {
        span?.follow(action.trace);
        messageTraces.set(begun, span?.context ?? tracer.pass(action.trace));
      }
      return action;
    };
    return {
      ...stages,
      readAction(call, principal) {
        const read = stages.readAction(call, principal);
        return read instanceof Promise ? read.then(follow) : follow(read);
      },
      forward: (granted) =>
        stages.forward(
          span === undefined
            ? { ...granted, call: { ...granted.call, trace: messageTraces.get(begun) ?? begun } }
            : granted,
        ),
    };
  }

  return {
    ...gateway,
    arrive(request, response) {
      const call = gateway.arrive(request, response);
      const { context, span } = tracer.join(call, isTrusted(call.peer), own);
      if (span !== undefined) recorded.set(context, { span, response });
      if (call.trace === undefined) messageTraces.set(context, undefined);
      return { ...call, trace: context };
    },
    canonical(arrived) {
      const call = gateway.canonical(arrived);
      recordedOf(call)?.span.set({ 'url.path': call.path });
      return call;
    },
    route(call) {
      const span = recordedOf(call)?.span;
      const stages = followingMessage(gateway.route(call), call, span);
      if (span === undefined) return stages;
      const { name, path } = stages.route;
      span.rename(`${call.method} ${path}`);
      span.set({ 'http.route': path, 'sallyport.route': name });
      return traceStages(stages, span, tracer, forwards);
    },
    record(outcome) {
      const span = recordedOf(outcome.call)?.span;
      if (span !== undefined) {
        span.set(decisionAttributes(outcome));
        if (outcome.denial !== undefined) failIfServerError(span, outcome.denial);
      }
      const { call } = outcome;
      const trace = call.trace && messageTraces.get(call.trace);
      gateway.record(trace === undefined ? outcome : { ...outcome, call: { ...call, trace } });
    },
    failed(call, route, denial) {
      const span = recordedOf(call)?.span;
      if (span !== undefined) failIfServerError(span, denial);
      gateway.failed(call, route, denial);
    },
    answered(route, call, status) {
      const found = recordedOf(call);
      if (found !== undefined) {
        // A client that left before its answer has no status.
        if (found.response.headersSent || status === 101) found.span.set({ 'http.response.status_code': status });
        if (status >= 500) found.span.fail(String(status));
        found.span.end();
      }
      gateway.answered(route, call, status);
    },
  };
}

/** Holds neither caller, arguments nor claims, which are for the log: a tracing backend has other readers. */
function decisionAttributes({ call, route, attempt, allow, denial, shadow }: Outcome): SpanAttributes {
  const mcp = attempt?.kind === 'mcp' ? attempt : undefined;
  return {
    'sallyport.decision': call.decision,
    'sallyport.allow': allow,
    'sallyport.shadow': shadow === undefined ? undefined : true,
    'sallyport.reason': (denial ?? shadow)?.reason,
    'mcp.method.name': mcp?.method.name,
    'gen_ai.operation.name': calledTool(mcp) === undefined ? undefined : 'execute_tool',
    'gen_ai.tool.name': toolEntry(route, calledTool(mcp)),
  };
}

/** The entry of the policy that lists a tool, since a caller can make up the name of a tool. */
function toolEntry(route: Endpoint | undefined, tool: string | undefined): string | undefined {
  return tool === undefined ? undefined : route?.policy?.toolEntry(tool);
}

/**
 * The stages of a recorded call. The stages that decide or may have to wait have spans of their own.
 *
 * @param forwards Whether the last stage sends a request to an upstream.
 */
function traceStages(stages: Stages, parent: Span, tracer: Tracer, forwards: boolean): Stages {
  const { route } = stages;
  const upstream = isRoute(route) ? route.upstream : undefined;

  function beginUpstream(method: string): Span {
    return tracer.begin(parent, method, 'client', {
      'http.request.method': method,
      ...(upstream && serverAddress(upstream.origin)),
      'sallyport.route': route.name,
    });
  }

  function tracedSource(source: CredentialSource): CredentialSource {
    const { span: name } = source;
    if (name === undefined) return source;
    return {
      ...source,
      obtain: (grant, token) =>
        measured(tracer, tracer.begin(parent, name, 'internal'), () => source.obtain(grant, token)),
    };
  }

  return {
    ...stages,
    authenticate(token, call) {
      if (token === undefined) return stages.authenticate(token, call);
      return measured(tracer, tracer.begin(parent, 'authenticate', 'internal'), () => stages.authenticate(token, call));
    },
    authorize(principal, action) {
      const span = tracer.begin(parent, 'authorize', 'internal', { 'sallyport.policy': route.policy?.name });
      return measuredNow(span, () => stages.authorize(principal, action));
    },
    gates: stages.gates.map((gate) => {
      const { span: name } = gate;
      if (name === undefined) return gate;
      return {
        ...gate,
        enter: (call, grant) => measured(tracer, tracer.begin(parent, name, 'internal'), () => gate.enter(call, grant)),
      };
    }),
    credential: tracedSource(stages.credential),
    async forward(granted) {
      if (!forwards) return await stages.forward(granted);
      const { call } = granted;
      const span = beginUpstream(call.method);
      try {
        await stages.forward({ ...granted, call: { ...call, trace: span.context } });
        if (call.response.headersSent) markUpstream(span, call.response.statusCode);
      } catch (error) {
        mark(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
    async forwardUpgrade(granted, head, refuse) {
      const { call } = granted;
      const span = beginUpstream(call.method);
      let answeredBy: 'upstream' | 'gateway' = 'upstream';
      call.response.once('close', () => {
        const { statusCode } = call.response;
        // 200 is Node's default before any answer.
        if (answeredBy === 'upstream' && statusCode !== 200) markUpstream(span, statusCode);
        span.end();
      });
      await stages.forwardUpgrade({ ...granted, call: { ...call, trace: span.context } }, head, (denial) => {
        answeredBy = 'gateway';
        mark(span, denial);
        refuse(denial);
      });
    },
  };
}

/** Runs work that may have to wait. Requests that it sends have the span as their parent. */
function measured<Value>(tracer: Tracer, span: Span, work: () => Value | Promise<Value>): Value | Promise<Value> {
  let result;
  try {
    result = tracer.within(span, work);
  } catch (error) {
    throw ended(span, error);
  }
  if (!(result instanceof Promise)) {
    span.end();
    return result;
  }
  return result.then(
    (value) => {
      span.end();
      return value;
    },
    (error: unknown) => {
      throw ended(span, error);
    },
  );
}

function measuredNow<Value>(span: Span, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    mark(span, error);
    throw error;
  } finally {
    span.end();
  }
}

function ended(span: Span, error: unknown): unknown {
  mark(span, error);
  span.end();
  return error;
}

/** Marks a span with the reason of a refusal. Its detail is for the log alone, since it may quote claims. */
function mark(span: Span, error: unknown): void {
  if (!(error instanceof Denial)) return span.fail('gateway.error');
  span.set({ 'sallyport.reason': error.reason });
  failIfServerError(span, error);
}

function failIfServerError(span: Span, { reason, refusal }: Denial): void {
  if (refusal.status >= 500) span.fail(reason);
}

function markUpstream(span: Span, status: number): void {
  span.set({ 'http.response.status_code': status });
  if (status >= 400) span.fail(String(status));
}
