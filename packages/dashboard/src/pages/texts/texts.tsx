// From texts to a search in one page: paste or drop them, look at the columns and chunks, load them, search them.
import { useState } from 'preact/hooks'
import { go, href, parameters } from '../../address.ts'
import { PageHead } from '../../parts/panel.tsx'
import { collections } from '../../watch.ts'
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

function AddTexts() {
  const [draft, setDraft] = useState<{ readonly table: Table; readonly plan: Plan }>()
  const [load, setLoad] = useState<LoadWish>()
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
        onSample={setLoad}
      />
      {draft !== undefined && (
        <PlanForm
          table={draft.table}
          plan={draft.plan}
          onChange={(plan) => setDraft({ ...draft, plan })}
          onSubmit={() => setLoad(draft)}
        />
      )}
    </div>
  )
}
