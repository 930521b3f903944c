// Sends the lines of the log to a collector that accepts OTLP over HTTP, in addition to standard output, if one is configured. Only then are
// the packages loaded. At most `queueMax` lines wait for a collector; further ones are only on standard output.
import type { Attributes } from '@opentelemetry/api'
import type { Config } from '../config.ts'
import { closeExport, senderResource } from './otlp.ts'

export interface LogExport {
  /** Takes one line of the log: a JSON object. */
  write(line: string): void
  /** Sends the lines that were not sent yet. */
  close(): Promise<void>
}

const queueMax = 1_024
const textLengthMax = 8_192

/** Levels of the log and their numbers in OpenTelemetry. */
const severities: ReadonlyMap<unknown, { readonly number: number; readonly text: string }> = new Map([
  [10, { number: 1, text: 'TRACE' }],
  [20, { number: 5, text: 'DEBUG' }],
  [30, { number: 9, text: 'INFO' }],
  [40, { number: 13, text: 'WARN' }],
  [50, { number: 17, text: 'ERROR' }],
  [60, { number: 21, text: 'FATAL' }],
])

export async function openLogExport(
  { logsUrl }: Pick<Config, 'logsUrl'>,
  version: string,
): Promise<LogExport | undefined> {
  if (logsUrl === undefined) return undefined
  const [{ BatchLogRecordProcessor, LoggerProvider }, { OTLPLogExporter }, resource] = await Promise.all([
    import('@opentelemetry/sdk-logs'),
    import('@opentelemetry/exporter-logs-otlp-http'),
    senderResource(version),
  ])
  const exporter = new OTLPLogExporter({ url: logsUrl })
  const provider = new LoggerProvider({
    resource,
    logRecordLimits: { attributeValueLengthLimit: textLengthMax },
    processors: [new BatchLogRecordProcessor({ exporter, maxQueueSize: queueMax, maxExportBatchSize: queueMax / 4 })],
  })
  const logger = provider.getLogger('annal', version)
  return {
    write(line) {
      const { level, time, msg, req, status, seconds, err } = JSON.parse(line) as LogLine
      const severity = severities.get(level)
      logger.emit({
        timestamp: time,
        ...(severity && { severityNumber: severity.number, severityText: severity.text }),
        body: (msg ?? '').slice(0, textLengthMax),
        attributes: withoutAbsent({
          'annal.request_id': req?.id,
          'http.request.method': req?.method,
          'url.path': req?.path,
          'http.response.status_code': status,
          'annal.seconds': seconds,
          'exception.type': err?.type,
          'exception.message': err?.message,
          'exception.stacktrace': err?.stack,
        }),
      })
    },
    close: () => closeExport(provider),
  }
}

/** What the server writes in a line. */
interface LogLine {
  readonly level: number
  readonly time: number
  readonly msg?: string
  readonly req?: { readonly id: string; readonly method: string; readonly path: string }
  readonly status?: number
  readonly seconds?: number
  readonly err?: { readonly type?: string; readonly message?: string; readonly stack?: string }
}

function withoutAbsent(values: Readonly<Record<string, string | number | undefined>>): Attributes {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}
