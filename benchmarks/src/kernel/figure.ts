// A figure that the kernel must show, and what it must be at least or at most.
import type { Figure } from '../all/figures.ts'

export interface Wanted extends Figure {
  /** None where a figure only says what another one was measured with. */
  readonly wanted?: number
}

/** How a part, which runs in a process of its own, gives its figures to whoever began it. */
export function tell(figures: readonly Wanted[]): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`)
}

export function isReached({ value, more, wanted }: Wanted): boolean {
  return wanted === undefined || (more === 'better' ? value >= wanted : value <= wanted)
}
