// What is sent to a collector, by the standard variables of OpenTelemetry. Without an address, nothing is.
import type { Environment } from './settings.ts'

export interface ExportConfig {
  readonly tracesUrl: string | undefined
  readonly metricsUrl: string | undefined
  readonly logsUrl: string | undefined
  readonly metricsEveryMs: number
}

const everyName = 'OTEL_METRIC_EXPORT_INTERVAL'
const everyMs = { fallback: 60_000, min: 1_000, max: 86_400_000 }

export function readExports(environment: Environment, problems: string[]): ExportConfig {
  const url = (signal: 'TRACES' | 'METRICS' | 'LOGS') => urlOf(signal, environment, problems)
  return {
    tracesUrl: url('TRACES'),
    metricsUrl: url('METRICS'),
    logsUrl: url('LOGS'),
    metricsEveryMs: readEvery(environment, problems),
  }
}

function urlOf(signal: 'TRACES' | 'METRICS' | 'LOGS', environment: Environment, problems: string[]) {
  const exporterName = `OTEL_${signal}_EXPORTER`
  const exporter = environment[exporterName]?.trim() || 'otlp'
  if (exporter !== 'otlp' && exporter !== 'none') {
    problems.push(`${exporterName} must be otlp or none, not "${exporter}"`)
    return undefined
  }
  const own = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`
  const name = environment[own]?.trim() ? own : 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const given = environment[name]?.trim()
  if (!given || exporter === 'none') return undefined
  const url = name === own ? given : `${given.replace(/\/+$/, '')}/v1/${signal.toLowerCase()}`
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url
  const problem = `${name} must be an address that begins with http:// or https://, not "${given}"`
  // One sentence, although three signals read the variable.
  if (!problems.includes(problem)) problems.push(problem)
  return undefined
}

function readEvery(environment: Environment, problems: string[]): number {
  const given = environment[everyName]?.trim()
  if (!given) return everyMs.fallback
  const every = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN
  if (every >= everyMs.min && every <= everyMs.max) return every
  problems.push(`${everyName} must be a whole number from ${everyMs.min} to ${everyMs.max}, not "${given}"`)
  return everyMs.fallback
}
