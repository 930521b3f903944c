// Tells whether the candidates of a multi-vector field are in the order of errors: whether their pooled vectors differ by less than the errors
// of the codes that a walk compared. The exact pooled vectors are those of the members, which are read for every candidate anyway.
import { pooled } from '../input/pooling.ts'
import { isCoarse } from '../model/choices.ts'
import { CandidateRanking } from './candidate-ranking.ts'
import { similarityOf } from './max-sim.ts'
import type { PooledTask } from './pooled-task.ts'
import type { Best } from './ranking.ts'
import type { MultiTask } from './request.ts'

export class PooledOrder {
  readonly #params: MultiTask['definition']['params']
  readonly #query: Float32Array
  /** Undefined if rows are fine enough that the kernel tells it. */
  readonly #ranking: CandidateRanking | undefined
  #position = 0

  /** `candidates` are in the order of their estimated similarities to the pooled query. */
  constructor(candidates: Best, { definition, k }: Pick<MultiTask, 'definition' | 'k'>, { source }: PooledTask) {
    this.#params = definition.params
    this.#query = source.query
    this.#ranking = isCoarse(definition.params.precision) ? new CandidateRanking(candidates, { k }) : undefined
  }

  /** Adds the members of the next candidate. */
  add(members: Float32Array): void {
    const position = this.#position++
    if (this.#ranking === undefined || this.#ranking.isDone || this.#ranking.next !== position) return
    this.#ranking.put(similarityOf(this.#query, pooled(members, this.#params).vector, this.#params.spaceType))
  }

  get isUnresolved(): boolean {
    return this.#ranking?.isUnresolved === true
  }
}
