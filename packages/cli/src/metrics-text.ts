// Reads metrics in the text format of Prometheus, as far as a server writes it.

export interface Sample {
  readonly name: string
  readonly labels: { readonly [name: string]: string }
  readonly value: number
}

/** Lines that are not samples are left out. */
export function samplesOf(text: string): readonly Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? []
    if (name === undefined || value === undefined) return []
    const pairs = Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, key = '', text = '']) => [key, text])
    return [
      { name, labels: Object.fromEntries(pairs), value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value) },
    ]
  })
}

/** The sum of the samples of a name, of those that fit. */
export function total(
  samples: readonly Sample[],
  name: string,
  fits: (sample: Sample) => boolean = () => true,
): number {
  return samples.reduce((sum, sample) => (sample.name === name && fits(sample) ? sum + sample.value : sum), 0)
}

/** The bound of a histogram below which the share of what came between two measurements is; undefined if nothing came. */
export function quantile(
  share: number,
  name: string,
  before: readonly Sample[],
  now: readonly Sample[],
): number | undefined {
  const bucket = `${name}_bucket`
  const bounds = [
    ...new Set(now.flatMap(({ name: of, labels }) => (of === bucket && labels.le !== undefined ? [labels.le] : []))),
  ]
    .map((le) => ({ le, bound: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le) }))
    .sort((a, b) => a.bound - b.bound)
  const counts = bounds.map(({ le, bound }) => {
    const of = (samples: readonly Sample[]) => total(samples, bucket, ({ labels }) => labels.le === le)
    return { bound, count: of(now) - of(before) }
  })
  const all = counts.at(-1)?.count ?? 0
  if (all <= 0) return undefined
  return counts.find(({ count }) => count >= share * all)?.bound
}
