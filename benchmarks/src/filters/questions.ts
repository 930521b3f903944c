// Filters of known selectivity over the objects of objects.ts, and what each may take in one thread.

export interface Question {
  readonly name: string
  readonly filter: readonly unknown[]
  /** For a million objects. */
  readonly limitMs?: number
}

const middle = new Date(1.6e12 + 500_000 * 60_000).toISOString()

export const questions: readonly Question[] = [
  { name: 'equality, string, 1 %', filter: [{ category: { $eq: 'category-7' } }], limitMs: 0.3 },
  { name: 'equality, number, 0.1 %', filter: [{ rating: { $eq: 7 } }], limitMs: 0.3 },
  { name: 'equality, one object', filter: [{ url: { $eq: 'https://example.org/items/77' } }], limitMs: 0.3 },
  { name: 'equality, boolean, 50 %', filter: [{ flag: { $eq: true } }] },
  { name: 'range over distinct numbers, 1 %', filter: [{ uniform: { $range: [0.5, 0.51] } }], limitMs: 3 },
  { name: 'range over distinct numbers, 50 %', filter: [{ uniform: { $lt: 0.5 } }], limitMs: 3 },
  { name: 'range over 1,000 numbers, 50 %', filter: [{ rating: { $range: [0, 499] } }], limitMs: 3 },
  { name: 'range over times, 50 %', filter: [{ created: { $gte: middle } }], limitMs: 3 },
  {
    name: '$in of 10 of 100',
    filter: [{ category: { $in: Array.from({ length: 10 }, (_, at) => `category-${at}`) } }],
  },
  { name: '$ne, 99 %', filter: [{ category: { $ne: 'category-7' } }] },
  { name: '$exists', filter: [{ url: { $exists: true } }] },
  {
    name: 'three conditions',
    filter: [{ category: { $eq: 'category-7' } }, { uniform: { $lt: 0.5 } }, { flag: { $eq: true } }],
  },
  { name: '$or of two ranges', filter: [{ $or: [{ rating: { $lt: 100 } }, { uniform: { $gt: 0.9 } }] }] },
]
