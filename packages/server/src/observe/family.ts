// A family of metrics: what /metrics writes as text, and what is sent to a collector.

/** In the form that prom-client takes from other threads. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly values: readonly Sample[]
  readonly aggregator: 'first'
}

export interface Sample {
  /** Where it is not the name of the family, as in a histogram. */
  readonly metricName?: string
  readonly labels: { readonly [name: string]: string | number }
  readonly value: number
}

export function gauge(name: string, help: string, value: number): Family {
  return family('gauge', name, help, [{ labels: {}, value }])
}

export function counter(name: string, help: string, value: number): Family {
  return family('counter', name, help, [{ labels: {}, value }])
}

export function family(type: Family['type'], name: string, help: string, values: readonly Sample[]): Family {
  return { name, help, type, values, aggregator: 'first' }
}
