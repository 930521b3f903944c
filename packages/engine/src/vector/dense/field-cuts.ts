// The cuts of a dense field: everything that it holds as of one moment, or what changed since an earlier snapshot.
import { freeBuffer } from '@annal/wal'
import type { DenseFieldSchema } from '../../model/schema.ts'
import { elementAt } from '../element-at.ts'
import type { EarlierCut, FieldCut, PreparedCut } from '../field.ts'
import type { ArenaChanges } from './arena-changes.ts'
import { LinksAhead } from './arena-cut.ts'
import { DeltaAhead, deltaBytes, deltaHead } from './arena-delta.ts'
import { dumpField } from './arena-file.ts'
import type { Segment } from './segment.ts'

/** What changed in each segment since a snapshot with a name. */
interface Tracked {
  readonly id: string
  readonly segments: readonly Counted[]
}

interface Counted {
  readonly changes: ArenaChanges
  release(): void
}

/** The field that is cut. Its segments grow in number. */
interface CutField {
  readonly segments: readonly Segment[]
  readonly segmentRows: number
  readonly definition: DenseFieldSchema
}

export class FieldCuts {
  readonly #field: CutField
  /** Undefined unless a snapshot was written or loaded since the arenas began. */
  #tracked: Tracked | undefined

  constructor(field: CutField) {
    this.#field = field
  }

  /** A cut of the changes since `earlier` if they are known and small enough, otherwise of everything. */
  prepare(earlier: EarlierCut | undefined): PreparedCut {
    return this.#prepareDelta(earlier) ?? this.#prepareWhole()
  }

  #prepareWhole(): PreparedCut {
    const ahead = this.#field.segments.map(({ arena }) => new LinksAhead(arena))
    return {
      isDelta: false,
      copyAhead: async (rest) => {
        for (const links of ahead) await links.copy(rest)
      },
      isStale: () => !this.#hasArenas(ahead),
      take: () => this.#cut(ahead),
      release: () => {
        for (const links of ahead) links.release()
      },
    }
  }

  /** Undefined if the changes since the snapshot are unknown or not worth it. */
  #prepareDelta(earlier: EarlierCut | undefined): PreparedCut | undefined {
    const tracked = this.#tracked
    if (earlier === undefined || tracked?.id !== earlier.id) return undefined
    const changes = tracked.segments.map((counted) => counted.changes)
    if (!this.#hasArenas(changes)) return undefined
    const bytes = changes.reduce((sum, one) => sum + deltaBytes(one.arena, one.changed()), 0)
    if (bytes > earlier.bytesMax) return undefined
    // From here on the changes belong to this cut: unless it is written, the next one is whole.
    this.#tracked = undefined
    const ahead = changes.map((one) => new DeltaAhead(one))
    for (const one of tracked.segments) one.release()
    const stops = ahead.map((delta, i) => elementAt(this.#field.segments, i).count(delta))
    const release = () => {
      for (const stop of stops) stop()
      for (const delta of ahead) delta.release()
    }
    return {
      isDelta: true,
      copyAhead: async (rest) => {
        for (const delta of ahead) await delta.copy(rest)
      },
      isStale: () => !this.#hasArenas(ahead),
      take: () => {
        const pieces = ahead.flatMap((delta, i) => delta.finish(elementAt(this.#field.segments, i).settled))
        const head = deltaHead(this.#field.definition.params.rules ?? 1, ahead.length)
        release()
        const { written, release: endCount } = this.#trackFromNow()
        const free = () => {
          endCount()
          for (const { buffer } of pieces) freeBuffer(buffer)
        }
        return { isDelta: true, pieces: [head, ...pieces], written, release: free }
      },
      release,
    }
  }

  /** Also false if the rows of a segment have got heads since: then all of it is written. */
  #hasArenas(all: readonly { readonly arena: unknown; readonly hasHeads?: boolean }[]): boolean {
    const isSame = ({ arena }: Segment, i: number) =>
      arena === all[i]?.arena && (all[i]?.hasHeads ?? arena.hasHeads) === arena.hasHeads
    return all.length === this.#field.segments.length && this.#field.segments.every(isSame)
  }

  #cut(ahead: readonly LinksAhead[]): FieldCut {
    const cuts = this.#field.segments.map((segment, i) => segment.cut(ahead[i]))
    const pieces = dumpField(
      this.#field.definition,
      this.#field.segmentRows,
      cuts.map(({ cut }) => cut),
    )
    const { written, release } = this.#trackFromNow()
    return {
      isDelta: false,
      pieces,
      written,
      release: () => {
        release()
        for (const cut of cuts) cut.release()
      },
    }
  }

  /** Counts changes for the cut after this one. They are kept if this one is written. */
  #trackFromNow(): Pick<FieldCut, 'written' | 'release'> {
    let segments: readonly Counted[] | undefined = this.#field.segments.map((segment) => segment.countChanges())
    return {
      written: (id) => {
        if (segments === undefined) return
        this.#track({ id, segments })
        segments = undefined
      },
      release: () => {
        for (const one of segments ?? []) one.release()
        segments = undefined
      },
    }
  }

  #track(tracked: Tracked): void {
    for (const one of this.#tracked?.segments ?? []) one.release()
    this.#tracked = tracked
  }

  /** The snapshot from which the field was just loaded. */
  loadedAs(id: string): void {
    this.#track({ id, segments: this.#field.segments.map((segment) => segment.countChanges()) })
  }
}
