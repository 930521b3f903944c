// What every tab of the page of a collection receives.
import type { Collection } from '../api/collections.ts'

export interface CollectionTab {
  readonly collection: Collection
  readonly again: () => void
}
