// An operation of a model run, and how it reports a difference.
import type { Collection, Engine } from '@annal/engine'
import type fc from 'fast-check'
import type { TestClock } from '../expiry/rig.ts'
import type { Life, Model } from './lives.ts'
import type { ModelObject, Terms } from './model.ts'

export interface Real {
  engine: Engine
  readonly clock: TestClock
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

/** An operation on one collection. If it does not exist, both sides must report that. */
export function onCollection(
  label: string,
  target: string,
  run: (life: Life, real: Collection, model: Model, engine: Engine, world: Real) => Promise<void>,
): Command {
  return command(`${label} in ${target}`, async (model, world) => {
    const { engine } = world
    const expected = model.resolve(target)
    if (expected) {
      await run(expected, engine.database().collection(target), model, engine, world)
      check(engine.database().collection(target).describe().objects === expected.objects.size, `count of ${target}`)
    } else {
      check(
        (await codeOf((async () => engine.database().collection(target))())) === 'collection_not_found',
        `${target} exists`,
      )
    }
  })
}

/** The object in the form that the engine takes. */
export function inputOf(id: string, { vector: v, members: m, terms: s, text, meta, filter }: ModelObject) {
  const optional = {
    ...(m.length > 0 && { m }),
    ...(s.length > 0 && { s: sparseInput(s) }),
    ...(text !== null && { t: text }),
  }
  return { id, meta, filter, fields: { v, ...optional } }
}

export function sparseInput(input: Terms): { readonly indices: number[]; readonly values: number[] } {
  return { indices: input.map(([index]) => index), values: input.map(([, value]) => value) }
}
