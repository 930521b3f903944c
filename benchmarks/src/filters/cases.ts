// Filters of known selectivity over the objects of objects.ts, with the maximum time of each in one thread.

export interface FilterCase {
  readonly name: string
  readonly filter: readonly unknown[]
  readonly limitMs?: number
}

/** Maximum times to find one value and a range in a million objects. */
const [equalityMs, rangeMs] = [0.3, 3]

export function filterCases(objects: number): readonly FilterCase[] {
  const equality = (equalityMs * objects) / 1e6
  const range = (rangeMs * objects) / 1e6
  const middle = new Date(1.6e12 + (objects / 2) * 60_000).toISOString()
  return [
    { name: 'equality, string, 1 %', filter: [{ category: { $eq: 'category-7' } }], limitMs: equality },
    { name: 'equality, number, 0.1 %', filter: [{ rating: { $eq: 7 } }], limitMs: equality },
    { name: 'equality, one object', filter: [{ url: { $eq: 'https://example.org/items/77' } }], limitMs: equality },
    { name: 'equality, boolean, 50 %', filter: [{ flag: { $eq: true } }] },
    { name: 'range over distinct numbers, 1 %', filter: [{ uniform: { $range: [0.5, 0.51] } }], limitMs: range },
    { name: 'range over distinct numbers, 50 %', filter: [{ uniform: { $lt: 0.5 } }], limitMs: range },
    { name: 'range over 1,000 numbers, 50 %', filter: [{ rating: { $range: [0, 499] } }], limitMs: range },
    { name: 'range over times, 50 %', filter: [{ created: { $gte: middle } }], limitMs: range },
    {
      name: '$in of 10 of 100',
      filter: [{ category: { $in: Array.from({ length: 10 }, (_, index) => `category-${index}`) } }],
    },
    { name: '$ne, 99 %', filter: [{ category: { $ne: 'category-7' } }] },
    { name: '$exists', filter: [{ url: { $exists: true } }] },
    {
      name: 'three conditions',
      filter: [{ category: { $eq: 'category-7' } }, { uniform: { $lt: 0.5 } }, { flag: { $eq: true } }],
    },
    { name: '$or of two ranges', filter: [{ $or: [{ rating: { $lt: 100 } }, { uniform: { $gt: 0.9 } }] }] },
  ]
}
