// Reads judged queries: one JSON object with a query in each line of one file, and `query document grade` in each line of another.
import { JudgingError } from './judging-error.ts'
import type { Grades } from './metrics.ts'

/** The lines of a file, without their ends, and the name of the file for errors. */
export interface NamedLines {
  readonly name: string
  readonly lines: AsyncIterable<string> | Iterable<string>
}

/** A query in the file: a text or a vector for all fields that take one, or a value for each field. */
export interface GivenQuery {
  readonly id: string
  readonly text: string | undefined
  readonly vector: unknown
  readonly fields: { readonly [field: string]: unknown }
}

/** The queries of two files, with their grades. */
export interface JudgedQueries {
  /** Those with a relevant document, in the order of the file. */
  readonly queries: readonly { readonly query: GivenQuery; readonly grades: Grades }[]
  /** Number of queries in the file without a relevant document. */
  readonly unjudged: number
  /** Number of queries with a relevant document that the file of queries does not have. */
  readonly missing: number
}

/** Each takes a search for each setting; larger sets take hours. */
const queriesMax = 100_000
/** Each takes about a hundred bytes of memory. */
const gradesMax = 10_000_000

/** Throws JudgingError with the file and the line that is wrong. */
export async function readJudgedQueries(queriesFile: NamedLines, gradesFile: NamedLines): Promise<JudgedQueries> {
  const grades = await readGrades(gradesFile)
  const queries: { readonly query: GivenQuery; readonly grades: Grades }[] = []
  const ids = new Set<string>()
  for await (const { text, where } of placedLines(queriesFile)) {
    const query = queryOf(text, where)
    if (ids.has(query.id)) throw wrong(`${where}: query ${query.id} is in the file twice`)
    if (ids.size === queriesMax) throw wrong(`${queriesFile.name} has more than ${queriesMax} queries`)
    ids.add(query.id)
    const own = grades.get(query.id)
    if (own !== undefined) queries.push({ query, grades: own })
  }
  const missing = [...grades.keys()].filter((id) => !ids.has(id)).length
  if (queries.length > 0) return { queries, unjudged: ids.size - queries.length, missing }
  throw wrong(
    `no query of ${queriesFile.name} has a relevant document in ${gradesFile.name}; the ids of queries must be the same in both`,
  )
}

function queryOf(line: string, where: string): GivenQuery {
  const value = jsonOf(line, where)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(`${where}: a query must be an object such as {"id":"1","text":"..."}`)
  const { id, query: own, text = typeof own === 'string' ? own : undefined, ...rest } = value as Record<string, unknown>
  const { vector = Array.isArray(own) ? own : undefined, fields = {} } = rest
  if ((typeof id !== 'string' || id === '') && typeof id !== 'number') throw wrong(`${where}: a query must have an id`)
  if (text !== undefined && typeof text !== 'string') throw wrong(`${where}: text must be a string`)
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw wrong(`${where}: fields must be an object with a query for each field`)
  return { id: String(id), text, vector, fields: fields as GivenQuery['fields'] }
}

/** Grades by query, of queries with a relevant document. */
async function readGrades(file: NamedLines): Promise<ReadonlyMap<string, Grades>> {
  const grades = new Map<string, Map<string, number>>()
  let count = 0
  for await (const { text, where, number } of placedLines(file)) {
    const parts = text.includes('\t') ? text.split('\t') : text.split(/ +/)
    // TREC has a column between query and document that nobody uses.
    const [query = '', document = '', gradeText = ''] = parts.length === 4 ? [parts[0], parts[2], parts[3]] : parts
    const grade = gradeText.trim() === '' ? Number.NaN : Number(gradeText)
    // The head of the table.
    if (number === 1 && gradeText !== '' && Number.isNaN(grade)) continue
    if ((parts.length !== 3 && parts.length !== 4) || query === '' || document === '' || !isGrade(grade))
      throw wrong(
        `${where}: a line must be query, document, and grade (-1 to ${gradeMax}), got ${JSON.stringify(text.slice(0, 80))}`,
      )
    if (++count > gradesMax) throw wrong(`${file.name} has more than ${gradesMax} grades`)
    const own = grades.get(query) ?? new Map<string, number>()
    grades.set(query, own.set(document, grade))
  }
  for (const [query, own] of grades) if (![...own.values()].some((grade) => grade > 0)) grades.delete(query)
  return grades
}

/** The gain of a grade is 2^grade - 1. */
const gradeMax = 30

function isGrade(grade: number): boolean {
  return grade >= -1 && grade <= gradeMax
}

function jsonOf(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw wrong(`${where}: not JSON`)
  }
}

/** Lines that are not empty, with their place for errors. */
async function* placedLines({ name, lines }: NamedLines) {
  let number = 0
  for await (const text of lines) {
    number++
    if (text.trim() !== '') yield { text, number, where: `${name}:${number}` }
  }
}

function wrong(message: string): JudgingError {
  return new JudgingError('file', message)
}
