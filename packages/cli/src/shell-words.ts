// The words of a line of `annal shell`: as in a shell, with quotes, but JSON needs none.

/** Undefined if a quote or a bracket is open: the next line belongs to it. */
export function wordsOf(line: string): readonly string[] | undefined {
  const words: string[] = []
  let place = 0
  while (place < line.length) {
    if (/\s/.test(line[place] as string)) {
      place += 1
      continue
    }
    const read = isOpening(line[place]) ? readJson(line, place) : readWord(line, place)
    if (read === undefined) return undefined
    words.push(read.word)
    place = read.end
  }
  return words
}

interface Read {
  readonly word: string
  readonly end: number
}

function isOpening(character: string | undefined): boolean {
  return character === '{' || character === '['
}

/** Up to the bracket that closes the first one. */
function readJson(line: string, from: number): Read | undefined {
  let depth = 0
  let isInString = false
  for (let place = from; place < line.length; place += 1) {
    const character = line[place]
    if (isInString) {
      if (character === '\\') place += 1
      else if (character === '"') isInString = false
    } else if (character === '"') isInString = true
    else if (isOpening(character)) depth += 1
    else if (character === '}' || character === ']') depth -= 1
    if (depth === 0) return { word: line.slice(from, place + 1), end: place + 1 }
  }
  return undefined
}

function readWord(line: string, from: number): Read | undefined {
  let word = ''
  let quote: string | undefined
  for (let place = from; place < line.length; place += 1) {
    const character = line[place] as string
    if (quote !== undefined) {
      if (character === quote) quote = undefined
      else if (character === '\\' && quote === '"' && place + 1 < line.length) {
        place += 1
        word += line[place]
      } else word += character
    } else if (character === '"' || character === "'") quote = character
    else if (/\s/.test(character)) return { word, end: place }
    else word += character
  }
  return quote === undefined ? { word, end: line.length } : undefined
}
