import { test } from 'tap'
import { isInexactTimestamp, parseTimestamp } from '../../src/filter/timestamp.ts'

test('a date or a date and time of RFC 3339 is a point in time', (t) => {
  for (const text of [
    '1970-01-01T00:00:00Z',
    '2024-02-29T12:34:56Z',
    '2000-02-29T23:59:59.123Z',
    '1969-12-31T23:59:59.5Z',
    '2024-03-10T01:02:03+05:30',
    '2024-03-10T01:02:03-11:45',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
    '0000-02-29T00:00:00Z',
    '2024-05-01',
  ]) {
    t.equal(parseTimestamp(text), Date.parse(text), text)
  }
  t.equal(parseTimestamp('2024-05-01t00:00:00z'), Date.parse('2024-05-01'))
  t.equal(parseTimestamp('2016-12-31T23:59:60Z'), Date.parse('2017-01-01T00:00:00Z'), 'a leap second')
  t.equal(parseTimestamp('1970-01-01T00:00:00.000001Z'), 0.001)
  t.end()
})

test('everything else is text', (t) => {
  for (const text of [
    '',
    '2024',
    '2024-13-01',
    '2024-02-30',
    '2023-02-29',
    '1900-02-29',
    '2024-1-1',
    '2024-05-01T12:00:00',
    '2024-05-01 12:00:00Z',
    '2024-05-01T24:00:00Z',
    '2024-05-01T12:00Z',
    '2024-05-01T12:00:00+0100',
    '2024-05-01T12:00:61Z',
    '2024-05-01T12:60:00Z',
    '2024-05-01T12:00:00+24:00',
    '2024-05-01Z',
    ' 2024-05-01',
    '2024-05-01\n',
    '+002024-05-01',
    '２024-05-01',
  ]) {
    t.equal(parseTimestamp(text), undefined, JSON.stringify(text))
  }
  t.end()
})

test('fractions of a millisecond are compared exactly in every year that accepts them', (t) => {
  for (let year = 0; year <= 9_999; year += 1) {
    const text = (micros: number) =>
      `${String(year).padStart(4, '0')}-06-01T12:00:00.${String(micros).padStart(6, '0')}Z`
    if (isInexactTimestamp(text(1))) {
      t.ok(year < 1692 || year > 2247, `${year}`)
      continue
    }
    const times = [0, 1, 2, 499_999, 500_000, 999_998, 999_999].map((micros) => parseTimestamp(text(micros)) as number)
    if (times.some((time, i) => i > 0 && time <= (times[i - 1] as number))) t.fail(`${year}`)
  }
  t.notOk(isInexactTimestamp('9999-01-01T00:00:00.123Z'), 'milliseconds are exact in every year')
  t.notOk(isInexactTimestamp('9999-01-01T00:00:00.123000Z'))
  t.notOk(isInexactTimestamp('no time'))
  t.end()
})
