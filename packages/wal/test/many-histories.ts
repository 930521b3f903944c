// Runs many simulated lives and counts how they ended.
import { type HistoryOptions, type Outcome, runHistory } from './history.ts'

export interface Tally {
  readonly histories: number
  readonly whole: number
  readonly refused: number
  /** Acknowledged records gone without a word: only from the newest sync, or also from before it. */
  readonly lostNewest: number
  readonly lostStamped: number
  readonly phantom: number
  readonly broken: number
  /** The first few that did not end whole, with what repeats them. */
  readonly examples: readonly { readonly seed: number; readonly outcome: Outcome }[]
}

export async function runHistories(
  count: number,
  seed: number,
  options: (index: number) => Omit<HistoryOptions, 'seed'>,
  isExpected: (outcome: Outcome) => boolean = (outcome) => outcome.kind === 'whole',
): Promise<Tally> {
  const tally = { histories: 0, whole: 0, refused: 0, lostNewest: 0, lostStamped: 0, phantom: 0, broken: 0 }
  const examples: { seed: number; outcome: Outcome }[] = []
  for (let i = 0; i < count; i++) {
    const outcome = await runHistory({ ...options(i), seed: seed + i })
    tally.histories++
    if (outcome.kind === 'lost') tally[outcome.found < outcome.stamped ? 'lostStamped' : 'lostNewest']++
    else tally[outcome.kind]++
    if (!isExpected(outcome) && examples.length < 5) examples.push({ seed: seed + i, outcome })
  }
  return { ...tally, examples }
}
