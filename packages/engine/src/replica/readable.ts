// What reads need of a replica: of the live one, of one that was loaded for a moment, and of a version of a window.

import type { Originals } from '../originals/originals.ts'
import type { DenseField } from '../vector/field.ts'
import type { Pins } from './pins.ts'
import type { RecentMatches } from './recent-matches.ts'
import type { Replica } from './replica.ts'

export type ReadableField = Pick<DenseField, 'definition' | 'kernel' | 'search' | 'scan' | 'has' | 'row' | 'norm'>

export type ReadableOriginals = Pick<
  Originals,
  'owner' | 'has' | 'count' | 'read' | 'readGiven' | 'readNow' | 'readLater' | 'damaged'
>

export interface ReadableReplica
  extends Pick<
    Replica,
    | 'id'
    | 'generation'
    | 'definition'
    | 'version'
    | 'lsnApplied'
    | 'objects'
    | 'sparse'
    | 'terms'
    | 'renumberings'
    | 'find'
    | 'findStored'
    | 'expired'
    | 'filters'
    | 'publish'
    | 'rowsAt'
    | 'filterTextAt'
    | 'metaAt'
    | 'lsnAt'
  > {
  readonly dense: readonly (ReadableField | undefined)[]
  readonly originals: readonly (ReadableOriginals | undefined)[]
  readonly matches: Pick<RecentMatches, 'matchesOf' | 'evaluate'>
  readonly pins: Pick<Pins, 'pin'>
}
