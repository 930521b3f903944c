// Where the engine will be: empty while it opens, so that the server can listen and answer `starting` meanwhile.
import type { Database, Engine, EngineHealth, Progress } from '@annal/engine'
import { ServerError } from './errors.ts'

export class EngineSlot {
  #engine: Engine | undefined
  #progress: Progress | undefined

  fill(engine: Engine): void {
    this.#engine = engine
    this.#progress = undefined
  }

  /** Tells how far opening is. */
  report(progress: Progress): void {
    this.#progress = progress
  }

  isOpen(): boolean {
    return this.#engine !== undefined
  }

  /** Throws `starting` until there is an engine. */
  engine(): Engine {
    if (this.#engine !== undefined) return this.#engine
    throw new ServerError('starting', 'the server is starting: the log is being read', {})
  }

  database(): Database {
    return this.engine().database()
  }

  health(): EngineHealth {
    if (this.#engine !== undefined) return this.#engine.health()
    return { status: 'starting', reasons: [], ...(this.#progress === undefined ? {} : { progress: this.#progress }) }
  }
}

export function slotWith(engine: Engine): EngineSlot {
  const slot = new EngineSlot()
  slot.fill(engine)
  return slot
}
