// The saved searches of a collection: save the current one, load, copy as code, delete.
import { useState } from 'preact/hooks'
import type { Collection } from '../../api/collections.ts'
import { useAction } from '../../load.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import type { SearchDraft } from './draft.ts'
import { deleteSearch, restoredDraft, savedSearches, saveSearch } from './saved-searches.ts'

export function SavedSearches(props: {
  readonly collection: Collection
  readonly draft: SearchDraft
  readonly onLoad: (draft: SearchDraft) => void
  readonly onCode: (draft: SearchDraft) => void
  readonly onClose: () => void
}) {
  const { collection } = props
  const [name, setName] = useState('')
  const { error, run } = useAction()
  const saved = savedSearches(collection.name)
  const isTaken = saved.some((other) => other.name === name.trim())
  const save = () =>
    run(async () => {
      saveSearch(collection.name, name, props.draft)
      tell(`Search ${name.trim()} saved.`)
      setName('')
    })
  const remove = (name: string) =>
    run(async () => {
      deleteSearch(collection.name, name)
      tell(`Search ${name} deleted.`)
    })
  return (
    <Dialog title="Saved searches" onClose={props.onClose} onSubmit={() => void save()}>
      <div class="form">
        <div class="with-button">
          <TextField label="Name of the current search" prose value={name} onInput={setName} focus />
          <button type="submit" class="primary" disabled={name.trim() === ''}>
            {isTaken ? 'Replace' : 'Save'}
          </button>
        </div>
        {error && <Failure error={error} />}
        {saved.length === 0 ? (
          <p class="muted">
            No search of this collection is saved. Saved searches stay in this browser and are offered for judging, too.
          </p>
        ) : (
          <ul class="saved">
            {saved.map((search) => (
              <li key={search.name}>
                <bdi class="grow wrap-anywhere">{search.name}</bdi>
                <span class="row tight">
                  <button
                    type="button"
                    class="compact"
                    aria-label={`Load ${search.name}`}
                    onClick={() => props.onLoad(restoredDraft(collection, search))}
                  >
                    Load
                  </button>
                  <button
                    type="button"
                    class="compact"
                    aria-label={`${search.name} as code`}
                    onClick={() => props.onCode(restoredDraft(collection, search))}
                  >
                    As code
                  </button>
                  <button
                    type="button"
                    class="compact icon plain danger"
                    aria-label={`Delete ${search.name}`}
                    onClick={() => void remove(search.name)}
                  >
                    <Icon name="trash" size={13} />
                  </button>
                </span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </Dialog>
  )
}
