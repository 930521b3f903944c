// Where the caret is in JSON that is being written: the keys that lead there, and whether a key or a value is expected.

export interface JsonPlace {
  readonly kind: 'key' | 'value'
  /** Keys and indices from the outermost value to the object or array around the caret; a value of an object has its own key last. */
  readonly path: readonly (string | number)[]
  /** What is written of it, without quotes. */
  readonly typed: string
  /** What a completion replaces, quotes included. */
  readonly start: number
  readonly end: number
  /** Keys that the object has before the caret. */
  readonly siblings: readonly string[]
}

interface Level {
  readonly kind: 'object' | 'array'
  readonly keys: string[]
  index: number
  key: string | undefined
  expects: 'key' | 'colon' | 'value' | 'comma'
}

/** Undefined where nothing can be completed: after a value, or in JSON that is broken before the caret. */
export function placeIn(text: string, caret: number): JsonPlace | undefined {
  const levels: Level[] = []
  let at = 0
  while (at < caret) {
    const character = text[at] as string
    const level = levels.at(-1)
    if (character === '"') {
      const end = endOfString(text, at)
      if (end === undefined || end > caret)
        return placeOf(levels, text, { start: at, end: closingQuote(text, caret), caret })
      if (level !== undefined) take(level, text.slice(at + 1, end - 1))
      at = end
      continue
    }
    if (/\s/.test(character)) at += 1
    else if (character === '{' || character === '[') {
      levels.push({
        ...{ kind: character === '{' ? 'object' : 'array', keys: [], index: 0, key: undefined },
        expects: character === '{' ? 'key' : 'value',
      })
      at += 1
    } else if (character === '}' || character === ']') {
      levels.pop()
      const outer = levels.at(-1)
      if (outer !== undefined) outer.expects = 'comma'
      at += 1
    } else if (character === ',') {
      if (level === undefined) return undefined
      level.index += 1
      level.expects = level.kind === 'object' ? 'key' : 'value'
      at += 1
    } else if (character === ':') {
      if (level === undefined) return undefined
      level.expects = 'value'
      at += 1
    } else {
      const word = /^[^\s"{}[\],:]+/.exec(text.slice(at))?.[0] ?? character
      if (at + word.length >= caret) return placeOf(levels, text, { start: at, end: at + word.length, caret })
      if (level !== undefined) level.expects = 'comma'
      at += word.length
    }
  }
  return placeOf(levels, text, { start: caret, end: caret, caret })
}

/** A string that ended is a key or a value. */
function take(level: Level, text: string): void {
  if (level.expects === 'key') {
    level.key = text
    level.keys.push(text)
    level.expects = 'colon'
  } else level.expects = 'comma'
}

function placeOf(
  levels: readonly Level[],
  text: string,
  { start, end, caret }: { readonly start: number; readonly end: number; readonly caret: number },
): JsonPlace | undefined {
  const inner = levels.at(-1)
  if (inner === undefined || (inner.expects !== 'key' && inner.expects !== 'value')) return undefined
  const path = levels.slice(0, -1).map((level) => (level.kind === 'object' ? (level.key ?? '') : level.index))
  const own = inner.kind === 'array' ? [inner.index] : inner.expects === 'value' ? [inner.key ?? ''] : []
  return {
    ...{ kind: inner.expects, path: [...path, ...own], start, end },
    typed: text.slice(start, caret).replace(/^"/, ''),
    siblings: inner.keys,
  }
}

/** After the closing quote; undefined if there is none. */
function endOfString(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length && text[at] !== '\n'; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '"') return at + 1
  }
  return undefined
}

/** After the quote that ends the string at the caret, if it follows at once or after the rest of a word. */
function closingQuote(text: string, caret: number): number {
  const rest = /^[^\s"{}[\],:]*"?/.exec(text.slice(caret))?.[0] ?? ''
  return caret + rest.length
}
