/** A node of EXPLAIN (FORMAT JSON), as far as tests look at it. */
export interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  'Relation Name'?: string;
  'Conflict Resolution'?: string;
  'Conflict Arbiter Indexes'?: string[];
  Plans?: PlanNode[];
}

/** All nodes of the plan in EXPLAIN's one row. */
export function planOf(row: Record<string, any> | undefined): PlanNode[] {
  return nodesOf(row!['QUERY PLAN'][0].Plan as PlanNode);
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Where the plan reads a table, by an index or without. */
export function readsOf(nodes: PlanNode[], table: string): PlanNode[] {
  return nodes.filter(
    (node) =>
      node['Node Type'].includes('Scan') &&
      (node['Relation Name'] === table || node['Index Name'] !== undefined),
  );
}
