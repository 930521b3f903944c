// Sends all metrics to a collector that accepts OTLP over HTTP, at regular intervals, if one is configured. Only then are the packages
// loaded. They are the metrics of /metrics, with the same names and labels. A report that cannot be sent is dropped: the next one has newer values.
import type { Attributes, HrTime } from '@opentelemetry/api'
import type { MetricData } from '@opentelemetry/sdk-metrics'
import type { Config } from '../config.ts'
import { closeExport, senderResource } from '../observe/otlp.ts'
import type { Family, Sample } from './family.ts'

export interface MetricsExport {
  /** Nothing is sent before this. */
  observe(read: () => Promise<readonly Family[]>): void
  /** Sends the newest values. */
  close(): Promise<void>
}

export async function openMetricsExport(
  { metricsUrl, metricsEveryMs }: Pick<Config, 'metricsUrl' | 'metricsEveryMs'>,
  version: string,
): Promise<MetricsExport | undefined> {
  if (metricsUrl === undefined) return undefined
  const [sdk, { OTLPMetricExporter }, { ValueType }, resource] = await Promise.all([
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-metrics-otlp-http'),
    import('@opentelemetry/api'),
    senderResource(version),
  ])
  const convert = converter(sdk, ValueType, hrTime(Date.now() - process.uptime() * 1_000))
  let read = async (): Promise<readonly Family[]> => []
  const reader = new sdk.PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: metricsUrl }),
    exportIntervalMillis: metricsEveryMs,
    exportTimeoutMillis: Math.min(metricsEveryMs, 10_000),
    metricProducers: [
      {
        async collect() {
          const now = hrTime(Date.now())
          const metrics = (await read()).map((family) => convert(family, now))
          return {
            resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'annal', version }, metrics }] },
            errors: [],
          }
        },
      },
    ],
  })
  const provider = new sdk.MeterProvider({ resource, readers: [reader] })
  return {
    observe(wanted) {
      read = wanted
    },
    close: () => closeExport(provider),
  }
}

/** Seconds and nanoseconds since 1970. */
function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)]
}

function converter(
  { AggregationTemporality, DataPointType }: typeof import('@opentelemetry/sdk-metrics'),
  ValueType: typeof import('@opentelemetry/api').ValueType,
  startTime: HrTime,
): (family: Family, endTime: HrTime) => MetricData {
  const aggregationTemporality = AggregationTemporality.CUMULATIVE
  return ({ name, help: description, type, values }, endTime) => {
    const valueType = values.every(({ value }) => Number.isInteger(value)) ? ValueType.INT : ValueType.DOUBLE
    const base = { descriptor: { name, description, unit: unitOf(name), valueType }, aggregationTemporality }
    const times = { startTime, endTime }
    if (type === 'histogram') {
      const descriptor = { ...base.descriptor, valueType: ValueType.DOUBLE }
      const dataPoints = histogramPoints(name, values).map((point) => ({ ...times, ...point }))
      return { ...base, descriptor, dataPointType: DataPointType.HISTOGRAM, dataPoints }
    }
    const dataPoints = values
      // JSON has no NaN. A value that is unknown is not sent.
      .filter(({ value }) => Number.isFinite(value))
      .map(({ labels: attributes, value }) => ({ ...times, attributes, value }))
    if (type === 'gauge') return { ...base, dataPointType: DataPointType.GAUGE, dataPoints }
    return { ...base, dataPointType: DataPointType.SUM, dataPoints, isMonotonic: true }
  }
}

interface HistogramPoint {
  readonly attributes: Attributes
  readonly value: { buckets: { boundaries: number[]; counts: number[] }; sum: number; count: number }
}

/** Prometheus counts what is below a boundary, OTLP what is between two. */
function histogramPoints(name: string, samples: readonly Sample[]): HistogramPoint[] {
  const points = new Map<string, HistogramPoint>()
  let below = 0
  for (const { metricName, labels, value } of samples) {
    const { le, ...attributes } = labels
    const key = JSON.stringify(attributes)
    let point = points.get(key)
    if (point === undefined) {
      below = 0
      point = { attributes, value: { buckets: { boundaries: [], counts: [] }, sum: 0, count: 0 } }
      points.set(key, point)
    }
    if (metricName === `${name}_sum`) point.value.sum = value
    else if (metricName === `${name}_count`) point.value.count = value
    else {
      if (typeof le === 'number') point.value.buckets.boundaries.push(le)
      point.value.buckets.counts.push(value - below)
      below = value
    }
  }
  return [...points.values()]
}

function unitOf(name: string): string {
  const [, unit] = /_(bytes|seconds)(?:_total)?$/.exec(name) ?? []
  return unit === 'bytes' ? 'By' : unit === 'seconds' ? 's' : ''
}
