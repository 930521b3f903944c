// Parses JSON of a file. What nests deeper than any server takes would overflow the stack when it is written again.

const depthMax = 64

/** JSON that nests too deeply. */
export class TooDeep extends SyntaxError {}

/** Throws a SyntaxError if the text is not JSON, and TooDeep. */
export function parseJson(text: string): unknown {
  if (mayBeDeep(text) && isDeep(text)) throw new TooDeep(`nested deeper than ${depthMax}`)
  return JSON.parse(text)
}

/** Few brackets cannot nest deeply. */
function mayBeDeep(text: string): boolean {
  let brackets = 0
  for (const bracket of ['[', '{']) {
    for (let place = text.indexOf(bracket); place >= 0; place = text.indexOf(bracket, place + 1)) {
      brackets += 1
      if (brackets > depthMax) return true
    }
  }
  return false
}

function isDeep(text: string): boolean {
  let depth = 0
  let isInString = false
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i]
    if (character === '"') isInString = !isInString
    else if (isInString) i += character === '\\' ? 1 : 0
    else if (character === '[' || character === '{') depth += 1
    else if (character === ']' || character === '}') depth -= 1
    if (depth > depthMax) return true
  }
  return false
}
