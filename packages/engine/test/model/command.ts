// An operation of a model run, and how it reports a difference.
import type { Engine } from '@annal/engine'
import type fc from 'fast-check'
import type { Model } from './model.ts'

export interface Real {
  engine: Engine
  /** Closes and opens again. `keepCheckpoints: false` deletes the checkpoints in between, so that the log is replayed. */
  restart(options: { readonly keepCheckpoints: boolean }): Promise<void>
}

export interface Command extends fc.AsyncCommand<Model, Real> {
  toString(): string
}

export function command(label: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => label }
}

export function check(condition: boolean, what: string): void {
  if (!condition) throw new Error(`engine and model differ: ${what}`)
}

export async function codeOf(action: Promise<unknown>): Promise<string> {
  return action.then(
    () => 'none',
    (error) => error.code ?? String(error),
  )
}
