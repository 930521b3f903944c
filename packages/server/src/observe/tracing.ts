// Traces of requests for a collector that accepts OTLP over HTTP, if one is configured. Only then are the packages loaded that send them.
// A span has the route, the status, and the duration of a request, but no names, bodies, or tokens.
import type { SpanContext } from '@opentelemetry/api'
import type { Config } from '../config.ts'
import { closeExport, senderResource } from './otlp.ts'

export interface AnsweredRequest {
  readonly method: string
  /** The pattern, not the path. */
  readonly route: string
  readonly status: number
  readonly seconds: number
  readonly requestId: string
  /** The header `traceparent`, with which a caller makes the span part of its trace. */
  readonly parent: string | undefined
  /** When the reply was complete, in milliseconds since 1970. Default: now. */
  readonly endMs?: number
}

export interface Tracing {
  record(request: AnsweredRequest): void
  /** Sends the spans that were not sent yet. */
  close(): Promise<void>
}

export async function openTracing(
  { tracesUrl }: Pick<Config, 'tracesUrl'>,
  version: string,
): Promise<Tracing | undefined> {
  if (tracesUrl === undefined) return undefined
  const [api, { BatchSpanProcessor, TracerProvider }, { OTLPTraceExporter }, resource] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    senderResource(version),
  ])
  const provider = new TracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: tracesUrl }) })],
  })
  const tracer = provider.getTracer('annal', version)
  return {
    record({ method, route, status, seconds, requestId, parent, endMs: endTime = Date.now() }) {
      const remote = parentOf(parent)
      const context = remote ? api.trace.setSpanContext(api.ROOT_CONTEXT, remote) : api.ROOT_CONTEXT
      const attributes = {
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
        'annal.request_id': requestId,
      }
      const startTime = endTime - seconds * 1_000
      const span = tracer.startSpan(`${method} ${route}`, { kind: api.SpanKind.SERVER, startTime, attributes }, context)
      if (status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR })
      span.end(endTime)
    },
    close: () => closeExport(provider),
  }
}

/** As W3C Trace Context writes it: `00-<trace>-<span>-<flags>`. */
function parentOf(header: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
