// From texts to a search in one page: paste or drop them, look at the columns and chunks, load them, search them.
import { useState } from 'preact/hooks'
import { go, href, parameters } from '../../address.ts'
import { listProviders } from '../../api/server.ts'
import { useLoad } from '../../load.ts'
import { SelectField } from '../../parts/form.tsx'
import { PageHead } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { collections } from '../../watch.ts'
import { providerOption } from '../collections/provider-option.ts'
import { Load, type LoadWish } from './load.tsx'
import { guessPlan, type Plan } from './plan.ts'
import { PlanForm } from './plan-form.tsx'
import { SearchTexts } from './search-texts.tsx'
import { SourcePanel } from './source-panel.tsx'
import type { Table } from './table.ts'

export function Texts() {
  const collection = parameters.value.get('collection')
  return (
    <>
      <PageHead
        title={collection === null ? 'Add texts' : `Search ${collection}`}
        crumbs={<a href="#/collections">Collections</a>}
        actions={
          collection !== null && (
            <>
              <a class="button" href={href(['collections', collection, 'search'])}>
                All search settings
              </a>
              <a class="button" href={href(['collections', collection, 'objects'])}>
                Objects
              </a>
              <a class="button" href="#/texts">
                Add more texts
              </a>
            </>
          )
        }
      />
      {collection === null ? <AddTexts /> : <SearchTexts key={collection} name={collection} />}
    </>
  )
}

/** Stands for no provider; names of providers are never empty. */
const none = ''

function AddTexts() {
  const [draft, setDraft] = useState<{ readonly table: Table; readonly plan: Plan }>()
  const [load, setLoad] = useState<LoadWish>()
  const listed = useLoad((signal) => listProviders({ signal }), ['providers'])
  const providers = listed.kind === 'ready' ? listed.value : []
  const [chosen, setChosen] = useState<string>()
  // The first one unless the user decides otherwise.
  const provider = chosen === undefined ? providers[0] : providers.find(({ name }) => name === chosen)
  const start = (wish: LoadWish) => setLoad({ ...wish, plan: { ...wish.plan, provider } })
  const taken = () => (collections.value ?? []).map(({ name }) => name)
  if (load !== undefined) {
    return (
      <Load
        wish={load}
        onDone={() => go(href(['texts'], { collection: load.plan.name }))}
        onBack={() => setLoad(undefined)}
      />
    )
  }
  return (
    <div class="stack">
      <SourcePanel
        table={draft?.table}
        taken={taken}
        onTable={(table) => setDraft({ table, plan: guessPlan(table, taken()) })}
        onSample={start}
        loading={listed.kind === 'loading'}
        meaning={
          listed.kind === 'failed' ? (
            <Failure error={listed.error} retry={listed.again} />
          ) : (
            providers.length > 0 && (
              <SelectField
                label="Vectors for searches by meaning"
                value={provider?.name ?? none}
                options={[...providers.map(providerOption), [none, 'none: search by words only']]}
                onInput={setChosen}
              />
            )
          )
        }
      />
      {draft !== undefined && (
        <PlanForm
          table={draft.table}
          plan={draft.plan}
          onChange={(plan) => setDraft({ ...draft, plan })}
          onSubmit={() => start(draft)}
        />
      )}
    </div>
  )
}
