import { Denial } from '../../model/denial.ts';
import { refusals } from '../../model/reasons.ts';
import type { Span, Tracer } from '../../model/tracer.ts';
import type { Stages } from '../../pipeline/pipeline.ts';
import { serverAddress } from '../../telemetry/traced-client.ts';

/**
 * The stages of a recorded call. The stages that decide or may have to wait have spans of their own.
 *
 * @param forwards Whether the last stage sends a request to an upstream.
 */
export function traceStages(stages: Stages, parent: Span, tracer: Tracer, forwards: boolean): Stages {
  const { route } = stages;
  const exchanges = route.upstream.token.kind === 'exchange';

  function beginUpstream(method: string): Span {
    return tracer.begin(parent, method, 'client', {
      'http.request.method': method,
      ...serverAddress(route.upstream.origin),
      'sallyport.route': route.name,
    });
  }

  return {
    ...stages,
    authenticate(token, call) {
      if (token === undefined) return stages.authenticate(token, call);
      return measured(tracer, tracer.begin(parent, 'authenticate', 'internal'), () => stages.authenticate(token, call));
    },
    authorize(principal, action) {
      const span = tracer.begin(parent, 'authorize', 'internal', { 'sallyport.policy': route.policy?.name });
      return measuredNow(span, () => {
        const grant = stages.authorize(principal, action);
        stages.approve?.(grant);
        return grant;
      });
    },
    // Within the span of `authorize`: both decide without waiting.
    approve: undefined,
    count:
      stages.count &&
      ((call, grant) => {
        const span = tracer.begin(parent, 'count', 'internal');
        return measured(tracer, span, () => stages.count?.(call, grant));
      }),
    exchange(grant, token) {
      if (!exchanges) return stages.exchange(grant, token);
      return measured(tracer, tracer.begin(parent, 'exchange', 'internal'), () => stages.exchange(grant, token));
    },
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

/** Marks a span as failed if the call was refused with a status of 500 or above. */
export function failIfServerError(span: Span, { reason }: Denial): void {
  if (refusals[reason].status >= 500) span.fail(reason);
}

function markUpstream(span: Span, status: number): void {
  span.set({ 'http.response.status_code': status });
  if (status >= 400) span.fail(String(status));
}
