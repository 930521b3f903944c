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

/** Counts of what was below each bound, and of everything; `buckets` are the counts between the bounds. */
export function histogram(
  name: string,
  help: string,
  bounds: readonly number[],
  rows: readonly {
    readonly labels: Sample['labels']
    readonly buckets: readonly number[]
    readonly sum: number
  }[],
): Family {
  const samples = rows.flatMap(({ labels, buckets, sum }) => {
    let below = 0
    const cumulative = buckets.map((count, i) => {
      below += count
      return { metricName: `${name}_bucket`, labels: { ...labels, le: bounds[i] ?? '+Inf' }, value: below }
    })
    return [
      ...cumulative,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: below },
    ]
  })
  return family('histogram', name, help, samples)
}
