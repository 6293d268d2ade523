"""`greedy_repair` as a method of a policy: the worst person's witness becomes a record, again and again."""

from privacy_plugin.anonymizers.repair.repair_method import RepairMethod
from privacy_plugin.anonymizers.repair.score_repair import greedy_repair


class GreedyRepairMethod(RepairMethod):
    """Add witnesses until the privacy score is as low as required."""

    name = "greedy_repair"
    function = greedy_repair
    doing = "looking for records to add"
    done = "with added records that take inferences away"
    repairs_by = "witnesses"
