// Measures of one ranking against the grades of a query. A document without a grade counts as one that is not relevant.

/** Grades of the judged documents of one query, by id. Above 0 means relevant. */
export type Grades = ReadonlyMap<string, number>

/** All from 0 to 1. */
export interface Measures {
  /** Discounted gain of the first k, 2^grade - 1 each, divided by that of the best possible ranking. */
  readonly ndcg: number
  /** Share of the relevant documents that are among the first k. */
  readonly recall: number
  /** 1 divided by the rank of the first relevant document; 0 if it is not among the first k. */
  readonly mrr: number
}

/** The names of the measures: nDCG, recall, and mean reciprocal rank (MRR) of the first k results. */
export const measureNames = ['ndcg', 'recall', 'mrr'] as const
/** The name of a measure. */
export type MeasureName = (typeof measureNames)[number]

/** Measures the first k of a ranking, best first. A document that is listed twice counts once. The query has a relevant document. */
export function measure(ranking: readonly string[], grades: Grades, k: number): Measures {
  const first = [...new Set(ranking)].slice(0, k).map((id) => Math.max(0, grades.get(id) ?? 0))
  const relevant = [...grades.values()].filter((grade) => grade > 0)
  const ideal = [...relevant].sort((a, b) => b - a).slice(0, k)
  const rank = first.findIndex((grade) => grade > 0) + 1
  return {
    ndcg: gain(first) / gain(ideal),
    recall: first.filter((grade) => grade > 0).length / relevant.length,
    mrr: rank === 0 ? 0 : 1 / rank,
  }
}

function gain(grades: readonly number[]): number {
  return grades.reduce((sum, grade, i) => sum + (2 ** grade - 1) / Math.log2(i + 2), 0)
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
