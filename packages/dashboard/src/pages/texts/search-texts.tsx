// One box that searches the texts of a collection: by words, by meaning where vectors are made of texts, and by both.
import { useState } from 'preact/hooks'
import { go, href } from '../../address.ts'
import { type Collection, describeCollection, isDense, isText } from '../../api/collections.ts'
import { type SearchBody, search } from '../../api/search.ts'
import { useAction, useLoad } from '../../load.ts'
import { Segmented, TextField } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Show } from '../../parts/states.tsx'
import { Answer } from '../search/answer.tsx'
import type { Side } from '../search/side.ts'
import { Snippets } from '../search/snippets-dialog.tsx'
import { searchOfWords, type Way, waysOf } from './word-search.ts'

const wayNames = { words: 'By words', meaning: 'By meaning', both: 'Both' } as const

export function SearchTexts({ name }: { readonly name: string }) {
  const described = useLoad((signal) => describeCollection(name, { signal }), [name])
  return (
    <Show source={described}>
      {(collection) =>
        collection.fields.some(isText) ? (
          <SearchBox collection={collection} />
        ) : (
          <Panel>
            <Empty title="This collection has no text field" />
          </Panel>
        )
      }
    </Show>
  )
}

function SearchBox({ collection }: { readonly collection: Collection }) {
  const ways = waysOf(collection)
  const [words, setWords] = useState('')
  const [way, setWay] = useState<Way>(ways.at(-1) ?? 'words')
  const [operator, setOperator] = useState<'or' | 'and'>('or')
  const [found, setFound] = useState<Side & { readonly body: SearchBody }>()
  const [copying, setCopying] = useState(false)
  const { busy, error, run } = useAction()
  const start = () =>
    run(async () => {
      const body = searchOfWords(collection, { words, way, operator })
      const startedAt = performance.now()
      const reply = await search(collection.name, { ...body, explain: true })
      setFound({ reply, body, ms: performance.now() - startedAt })
    })
  return (
    <div class="stack">
      <Panel
        title="Search"
        actions={
          <>
            {collection.fields.some(isDense) && (
              <a class="button compact" href={href(['collections', collection.name, 'map'])}>
                Map
              </a>
            )}
            {found !== undefined && (
              <button type="button" class="compact" onClick={() => setCopying(true)}>
                <Icon name="copy" size={13} /> As code
              </button>
            )}
          </>
        }
      >
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault()
            void start()
          }}
        >
          <div class="with-button">
            <TextField label="Words to find" prose focus value={words} onInput={setWords} />
            <button type="submit" class="primary" disabled={busy || words.trim() === ''}>
              <Icon name="search" size={14} /> {busy ? 'Searching…' : 'Search'}
            </button>
          </div>
          <div class="row">
            {ways.length > 1 && (
              <Segmented
                label="Search by"
                value={way}
                options={ways.map((one) => [one, wayNames[one]])}
                onInput={setWay}
              />
            )}
            {way !== 'meaning' && (
              <Segmented
                label="Words that a text must have"
                value={operator}
                options={[
                  ['or', 'Any word'],
                  ['and', 'All words'],
                ]}
                onInput={setOperator}
              />
            )}
          </div>
          {error && <Failure error={error} />}
        </form>
      </Panel>
      {found !== undefined && (
        <Answer
          title="Results"
          reply={found.reply}
          ms={found.ms}
          collection={collection.name}
          onNear={(id) => go(href(['collections', collection.name, 'search'], { near: id }))}
        />
      )}
      {copying && found !== undefined && (
        <Snippets collection={collection.name} body={found.body} onClose={() => setCopying(false)} />
      )}
    </div>
  )
}
