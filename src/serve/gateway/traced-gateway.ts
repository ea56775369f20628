/**
 * Spans around the steps of a gateway. Without traces in the configuration, or for a call that is not recorded, the
 * steps stay as they are.
 *
 * @module
 */

import type { ServerResponse } from 'node:http';
import type { ConfiguredGateway } from '../gateway/scopes.ts';
import type { TraceContext } from '../../lib/http/trace-context.ts';
import { createIsWithin } from '../../lib/ip-address.ts';
import type { Call } from '../../model/call.ts';
import type { Config } from '../../model/config.ts';
import type { Action } from '../../model/grant.ts';
import type { KnownCall, Outcome } from '../../model/outcome.ts';
import { calledTool } from '../../model/policy.ts';
import type { Route } from '../../model/route.ts';
import type { Span, SpanAttributes, Tracer } from '../../model/tracer.ts';
import type { Gateway, Stages } from '../../pipeline/pipeline.ts';
import { serverAddress } from '../../telemetry/traced-client.ts';
import { failIfServerError, traceStages } from './traced-stages.ts';

/** What tracing needs to know of a listener. */
interface TracedParts {
  readonly publicUrl: string;
  /** Addresses and networks of the peers whose sampled flag is honoured. */
  readonly trusted: readonly string[];
  /** Whether the last step sends a request to an upstream. */
  readonly forwards: boolean;
}

/** A call that is recorded. */
interface Recorded {
  readonly span: Span;
  readonly response: ServerResponse;
}

/** Lets the calls of a gateway, and the questions of proxies, take part in traces. */
export function traceGateway(gateway: ConfiguredGateway, tracer: Tracer, config: Config): ConfiguredGateway {
  const { publicUrl, trustedProxies, forwardAuth } = config;
  const asking = [...trustedProxies, ...(forwardAuth?.trusted ?? [])];
  return {
    ...gateway,
    ...traced(gateway, tracer, { publicUrl, trusted: trustedProxies, forwards: true }),
    forwardAuth: traced(gateway.forwardAuth, tracer, { publicUrl, trusted: asking, forwards: false }),
  };
}

/** The span of a call ends with its answer; the span of a stream with the stream. */
function traced(gateway: Gateway, tracer: Tracer, { publicUrl, trusted, forwards }: TracedParts): Gateway {
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
function toolEntry(route: Route | undefined, tool: string | undefined): string | undefined {
  return tool === undefined ? undefined : route?.policy?.toolEntry(tool);
}
