// Commits the events of another log again. Benchmarks use it to replay a log into another engine.
import { Catalog } from '../catalog/catalog.ts'
import type { CatalogDraft } from '../commit.ts'
import { EngineError } from '../errors.ts'
import { isCatalogEvent } from '../events/codec.ts'
import type { CatalogEvent, Event } from '../model/event.ts'
import { checkObject } from '../model/ids.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { LocalCollection } from './collection.ts'

export interface RepeatHost {
  readonly catalog: Catalog
  loaded(id: number): LocalCollection | undefined
  /** Creates the draft when every earlier catalog event is applied, and admits no other until this one is applied. */
  commitAlone(makeDraft: () => CatalogDraft): Promise<Acknowledgement>
  checkOpen(): void
}

export async function repeatEvent(host: RepeatHost, event: Event): Promise<Acknowledgement> {
  host.checkOpen()
  checkObject(event, 'event')
  if (isCatalogEvent(event)) {
    return host.commitAlone(() => {
      checkFits(host.catalog, event)
      return event
    })
  }
  const collection = host.loaded(event.collectionId)
  if (!collection) {
    const details = { field: 'collectionId', value: event.collectionId }
    throw new EngineError('collection_not_found', `there is no collection with id ${event.collectionId}`, details)
  }
  return event.kind === 'collection-rebuilt' ? collection.repeatRebuild(event.fields) : collection.repeat(event)
}

/** The catalog applies its own events without checks; this event was made for another catalog. */
function checkFits(catalog: Catalog, event: CatalogEvent): void {
  const details = { field: 'event', value: event.kind }
  if (event.kind === 'collection-restored')
    throw new EngineError('invalid_argument', 'the log does not contain the data of a restored backup', details)
  try {
    new Catalog(catalog.state()).apply(catalog.lsn + 1, event)
  } catch (cause) {
    const message = `the event does not match this directory: ${(cause as Error).message}`
    throw new EngineError('invalid_argument', message, details, { cause })
  }
}
