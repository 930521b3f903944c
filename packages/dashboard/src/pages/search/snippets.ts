// A search as a program: curl, TypeScript or Python. It never contains the token.
import type { SearchBody } from '../../api/search.ts'

export const languages = ['curl', 'TypeScript', 'Python'] as const
export type Language = (typeof languages)[number]

export interface SnippetOf {
  readonly origin: string
  readonly collection: string
  readonly body: SearchBody
  readonly withToken: boolean
}

export function snippet(language: Language, source: SnippetOf): string {
  const url = `${source.origin}/api/v2/collection/${encodeURIComponent(source.collection)}/search`
  switch (language) {
    case 'curl':
      return curl(url, source)
    case 'TypeScript':
      return typescript(url, source)
    case 'Python':
      return python(url, source)
  }
}

function curl(url: string, { body, withToken }: SnippetOf): string {
  const quoted = JSON.stringify(body).replaceAll("'", `'\\''`)
  return [
    `curl '${url}' \\`,
    "  -H 'Content-Type: application/json' -H 'Accept: application/json' \\",
    ...(withToken ? ['  -H "Authorization: Bearer $ANNAL_TOKEN" \\'] : []),
    `  -d '${quoted}'`,
  ].join('\n')
}

function typescript(url: string, { body, withToken }: SnippetOf): string {
  const token = withToken ? '\n    Authorization: "Bearer " + process.env.ANNAL_TOKEN,' : ''
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: 'POST',
  headers: {
    'Content-Type': 'application/json',
    Accept: 'application/json',${token}
  },
  body: JSON.stringify(${literal(body, inJson, 1)}),
})
if (!response.ok) throw new Error((await response.json()).error)
const { ${body.fusion === undefined ? 'results' : 'fused'} } = await response.json()
`
}

function python(url: string, { body, withToken }: SnippetOf): string {
  const token = withToken ? '\n        "Authorization": f"Bearer {os.environ[\'ANNAL_TOKEN\']}",' : ''
  return `${withToken ? 'import os\n' : ''}import requests

response = requests.post(
    ${JSON.stringify(url)},
    headers={
        "Accept": "application/json",${token}
    },
    json=${literal(body, inPython, 1)},
)
response.raise_for_status()
${body.fusion === undefined ? 'results = response.json()["results"]' : 'fused = response.json()["fused"]'}
`
}

interface Words {
  readonly true: string
  readonly false: string
  readonly null: string
  readonly indent: number
}

const inJson: Words = { true: 'true', false: 'false', null: 'null', indent: 2 }
const inPython: Words = { true: 'True', false: 'False', null: 'None', indent: 4 }

/** A value as a literal of the language; lists of plain values stay on one line. */
function literal(value: unknown, words: Words, depth: number): string {
  if (typeof value === 'boolean') return value ? words.true : words.false
  if (typeof value === 'number' || typeof value === 'string') return JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return words.null
  const inner = ' '.repeat((depth + 1) * words.indent)
  const outer = ' '.repeat(depth * words.indent)
  const deeper = (item: unknown) => literal(item, words, depth + 1)
  if (Array.isArray(value)) {
    if (!value.some((item) => typeof item === 'object' && item !== null)) return `[${value.map(deeper).join(', ')}]`
    return `[\n${value.map((item) => inner + deeper(item)).join(',\n')},\n${outer}]`
  }
  const entries = Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${deeper(item)}`)
  return entries.length === 0 ? '{}' : `{\n${entries.join(',\n')},\n${outer}}`
}
