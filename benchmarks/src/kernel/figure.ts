// A figure of the kernel, and its minimum or maximum.
import type { Figure } from '../all/figures.ts'

export interface LimitedFigure extends Figure {
  /** Undefined for a figure that only describes the conditions of another one. */
  readonly limit?: number
}

/** Prints the figures of a part, which runs in a separate process, for the parent process. */
export function printFigures(figures: readonly LimitedFigure[]): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`)
}

export function isReached({ value, more, limit }: LimitedFigure): boolean {
  return limit === undefined || (more === 'better' ? value >= limit : value <= limit)
}
