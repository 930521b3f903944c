// Which ordinals belong to which segment of a field.

/** Positions in `ordinals` by segment. */
export function bySegment(ordinals: Uint32Array, segmentRows: number): Map<number, number[]> {
  const groups = new Map<number, number[]>()
  ordinals.forEach((ordinal, index) => {
    const segment = Math.floor(ordinal / segmentRows)
    const group = groups.get(segment)
    if (group === undefined) groups.set(segment, [index])
    else group.push(index)
  })
  return groups
}
