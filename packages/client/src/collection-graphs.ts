// The graphs of a collection: how good they are, how they are searched by default, and how they are built again.
import { asOfRequest } from './as-of-request.ts'
import { AnnalError } from './errors.ts'
import type {
  Acknowledgement,
  CalibrateRequest,
  DefaultChanges,
  FieldCalibration,
  FieldChanges,
  Fields,
  GraphFieldName,
  RebuildChanges,
  RecallReport,
  RecallRequest,
} from './model.ts'
import type { RebuildStatus } from './rebuild-status.ts'
import type { CallOptions, ReadOptions, Transport, WriteOptions } from './transport.ts'

/** @deprecated Give `rebuild` an object by field: `{ plot: { M: 32 } }`. */
export interface RebuildChange {
  readonly field: string
  readonly m?: number | undefined
  readonly efConstruction?: number | undefined
}

/** The part of a collection that is about its graphs. */
export abstract class CollectionGraphs<F extends Fields> {
  readonly name: string
  readonly #transport: Transport

  constructor(transport: Transport, name: string) {
    if (typeof name !== 'string' || name === '') {
      const field = 'name'
      throw new AnnalError('invalid_argument', 'the name of a collection must be a non-empty string', {
        field,
        value: name,
      })
    }
    this.name = name
    this.#transport = transport
  }

  /**
   * Measures recall: compares results of the index with exact results.
   *
   * @example
   * ```ts
   * const { recall } = await films.recall({ field: 'plot', sample: 200 })
   * ```
   */
  recall(request: RecallRequest<GraphFieldName<F>> = {}, options?: ReadOptions): Promise<RecallReport> {
    return this.#transport.call('recall', { collection: this.name, request: asOfRequest(request, options) }, options)
  }

  /**
   * Measures which ef reaches which recall, for searches that state a recall. Resolves after seconds to minutes; searches and writes
   * continue. Such searches also start it in the background.
   *
   * @example
   * ```ts
   * const { curves } = await films.calibrate({ field: 'plot', limit: 10 })
   * ```
   */
  calibrate(request: CalibrateRequest<GraphFieldName<F>> = {}, options?: CallOptions): Promise<FieldCalibration> {
    return this.#transport.call('calibrate', { collection: this.name, request }, options)
  }

  /**
   * The measurements of recall by ef, running ones included, for searches that state a recall.
   *
   * @example
   * ```ts
   * for (const { field, state, progress } of await films.calibrations()) console.log(field, state, progress)
   * ```
   */
  calibrations(options?: ReadOptions): Promise<readonly FieldCalibration[]> {
    return this.#transport.call('calibrations', { collection: this.name }, options)
  }

  /**
   * Ids of the neighbors of an object in level 0 of a field's graph; none if it has no vector there.
   *
   * @example
   * ```ts
   * const ids = await films.neighbors('plot', 'alien')
   * ```
   */
  neighbors(field: GraphFieldName<F>, id: string, options?: ReadOptions): Promise<readonly string[]> {
    return this.#transport.call('neighbors', { collection: this.name, field, id }, options)
  }

  /**
   * Changes defaults of the searches of fields, without a rebuild: the recall of searches that state neither `ef` nor `recall`. `null` removes
   * it.
   *
   * @example
   * ```ts
   * await films.updateFields({ plot: { recall: 0.95 } })
   * ```
   */
  updateFields(changes: FieldChanges<F>, options?: WriteOptions): Promise<Acknowledgement> {
    return this.#transport.call('updateFields', { collection: this.name, changes: changes as FieldChanges }, options)
  }

  /**
   * Changes the default expiry of the objects that are written from now on. Stored objects keep theirs.
   *
   * @example
   * ```ts
   * await films.updateDefaults({ ttlSeconds: 86_400 })
   * ```
   */
  updateDefaults(changes: DefaultChanges, options?: WriteOptions): Promise<Acknowledgement> {
    return this.#transport.call('updateDefaults', { collection: this.name, changes }, options)
  }

  /**
   * Starts to recreate the graphs, with other parameters where given; a parameter that is left out does not change. Searches continue;
   * writes wait. `rebuildStatus` reports progress.
   *
   * @example
   * ```ts
   * await films.rebuild({ plot: { M: 32, efConstruction: 256 } })
   * ```
   */
  async rebuild(changes?: RebuildChanges<F> | readonly RebuildChange[], options?: WriteOptions): Promise<void> {
    await this.#transport.call('rebuild', { collection: this.name, changes: changesByField(changes ?? {}) }, options)
  }

  /**
   * The running rebuild, or the last one since the server started.
   *
   * @example
   * ```ts
   * const { status, objectsDone, objects } = await films.rebuildStatus()
   * ```
   */
  rebuildStatus(options?: CallOptions): Promise<RebuildStatus> {
    return this.#transport.call('rebuildStatus', { collection: this.name }, options)
  }

  /**
   * Frees the memory of deleted and replaced objects, and returns the number of freed bytes.
   *
   * @example
   * ```ts
   * const reclaimedBytes = await films.vacuum()
   * ```
   */
  vacuum(options?: WriteOptions): Promise<number> {
    return this.#transport.call('vacuum', { collection: this.name }, options)
  }

  /** @deprecated Use `vacuum`. */
  shrink(options?: WriteOptions): Promise<number> {
    return this.vacuum(options)
  }
}

function changesByField(changes: object | readonly RebuildChange[]): RebuildChanges {
  // Anything but a list has parameters by field.
  if (!Array.isArray(changes)) return changes as RebuildChanges
  const list: readonly RebuildChange[] = changes
  return Object.fromEntries(
    list.map(({ field, m, efConstruction }) => [
      field,
      { ...(m !== undefined && { M: m }), ...(efConstruction !== undefined && { efConstruction }) },
    ]),
  )
}
