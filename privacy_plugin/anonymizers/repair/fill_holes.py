"""`fill_holes` as a method of a policy: combinations that nobody has, although all their parts occur, are added."""

from privacy_plugin.anonymizers.repair.repair_method import RepairMethod
from privacy_plugin.anonymizers.repair.score_repair import fill_holes


class FillHolesMethod(RepairMethod):
    """Fill holes of the table until the privacy score is as low as required."""

    name = "fill_holes"
    function = fill_holes
    doing = "looking for holes to fill"
    done = "with its holes filled by added records"
    repairs_by = "holes"
