"""Weights of the generated hospital data: invented, with plausible proportions.

Weights are not probabilities: draws divide them by their sum.
"""

from typing import NamedTuple

AGE_STARTS = (0, 5, 18, 30, 45, 60, 75)  # the first age of every group below

# Weights of the age groups in an ordinary, a university and a retirement postcode.
AGE_WEIGHTS = {
    "ordinary": (6, 15, 15, 20, 20, 16, 8),
    "university": (3, 8, 45, 22, 11, 7, 4),
    "retirement": (3, 8, 7, 11, 19, 31, 21),
}
POSTCODE_KINDS = {"ordinary": 0.78, "university": 0.10, "retirement": 0.12}
SHARE_WOMEN = (0.49, 0.49, 0.49, 0.50, 0.51, 0.52, 0.61)

# Relative frequency of admission within the year, by age group.
ADMISSION_WEIGHTS = (5.0, 2.0, 3.0, 4.0, 5.0, 9.0, 16.0)

# Occupations: weights of women and men of working age.
OCCUPATIONS: dict[str, tuple[float, float]] = {
    "nurse": (9.0, 1.4),
    "physician": (1.6, 1.5),
    "care assistant": (7.5, 1.4),
    "teacher": (6.5, 2.4),
    "researcher": (1.1, 1.2),
    "software developer": (1.3, 5.2),
    "engineer": (1.1, 4.8),
    "electrician": (0.1, 3.6),
    "construction worker": (0.2, 6.4),
    "mechanic": (0.15, 3.9),
    "sales assistant": (8.4, 4.5),
    "cook": (2.2, 2.6),
    "cleaner": (6.1, 1.5),
    "driver": (0.6, 6.1),
    "office clerk": (13.0, 5.6),
    "manager": (4.3, 7.7),
    "police officer": (0.4, 1.3),
    "farmer": (0.5, 1.1),
    "fisher": (0.02, 0.2),
    "not employed": (9.0, 7.0),
}
CHILD, PUPIL, STUDENT, RETIRED = "infant", "pupil", "student", "retired"
SHARE_STUDENTS = 0.38  # of people from 18 to 29
SHARE_RETIRED = (0.0, 0.0, 0.0, 0.0, 0.03, 0.62, 0.98)


class Diagnosis(NamedTuple):
    """Weights by age group of women and of men, mean days of stay, cost of a day, surplus in winter."""

    women: tuple[float, ...]
    men: tuple[float, ...]
    days: float
    daily_cost: float
    winter: float


DIAGNOSES: dict[str, Diagnosis] = {
    "childbirth": Diagnosis((0, 0.3, 42, 38, 0.6, 0, 0), (0, 0, 0, 0, 0, 0, 0), 3.0, 900, 0.0),
    "neonatal condition": Diagnosis((38, 0, 0, 0, 0, 0, 0), (42, 0, 0, 0, 0, 0, 0), 6.0, 1400, 0.0),
    "asthma": Diagnosis((12, 14, 4, 3, 3, 3, 2), (16, 17, 3, 2, 2, 2, 2), 2.5, 700, 0.3),
    "pneumonia": Diagnosis((14, 7, 4, 5, 6, 9, 14), (15, 7, 4, 6, 8, 11, 17), 5.5, 850, 0.6),
    "influenza": Diagnosis((9, 7, 4, 4, 4, 5, 7), (9, 7, 4, 4, 4, 5, 7), 4.0, 750, 0.9),
    "appendicitis": Diagnosis((2, 16, 8, 4, 3, 2, 1), (2, 18, 9, 5, 3, 2, 1), 3.0, 1500, 0.0),
    "fracture": Diagnosis((8, 18, 6, 6, 9, 13, 19), (9, 24, 16, 12, 9, 8, 9), 4.5, 1300, 0.1),
    "head injury": Diagnosis((7, 9, 5, 4, 3, 4, 6), (8, 13, 12, 8, 5, 5, 6), 3.5, 1200, 0.0),
    "depression": Diagnosis((0, 9, 13, 12, 9, 5, 3), (0, 4, 9, 9, 7, 4, 2), 14.0, 450, 0.2),
    "alcohol dependence": Diagnosis((0, 0.5, 4, 6, 6, 2, 0.5), (0, 0.6, 9, 14, 14, 5, 1), 9.0, 420, 0.0),
    "diabetes": Diagnosis((1, 4, 3, 5, 9, 11, 9), (1, 4, 4, 7, 13, 14, 10), 5.0, 650, 0.0),
    "hypertension": Diagnosis((0, 0.3, 1, 3, 8, 9, 9), (0, 0.3, 2, 5, 10, 9, 7), 2.5, 600, 0.0),
    "heart attack": Diagnosis((0, 0, 0.3, 1.5, 5, 9, 11), (0, 0, 0.8, 5, 15, 17, 14), 6.0, 1900, 0.1),
    "heart failure": Diagnosis((0.3, 0.1, 0.3, 1, 4, 12, 26), (0.3, 0.1, 0.4, 2, 7, 15, 25), 8.0, 950, 0.2),
    "stroke": Diagnosis((0.1, 0.1, 0.5, 2, 5, 10, 16), (0.1, 0.1, 0.6, 2, 7, 13, 17), 9.0, 1250, 0.1),
    "breast cancer": Diagnosis((0, 0, 0.5, 5, 11, 10, 6), (0, 0, 0, 0, 0.1, 0.1, 0.1), 5.0, 1600, 0.0),
    "prostate cancer": Diagnosis((0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 0.2, 5, 13, 9), 5.0, 1500, 0.0),
    "lung cancer": Diagnosis((0, 0, 0.1, 0.7, 4, 7, 5), (0, 0, 0.1, 0.8, 5, 9, 6), 8.0, 1500, 0.0),
    "leukaemia": Diagnosis((0.8, 0.8, 0.3, 0.4, 0.7, 1.2, 1.3), (0.9, 0.9, 0.4, 0.5, 0.9, 1.6, 1.7), 16.0, 1900, 0.0),
    "hip replacement": Diagnosis((0, 0, 0.1, 0.4, 4, 13, 12), (0, 0, 0.1, 0.5, 4, 10, 8), 7.0, 1700, 0.0),
    "dementia": Diagnosis((0, 0, 0, 0, 0.3, 3, 17), (0, 0, 0, 0, 0.3, 3, 12), 11.0, 520, 0.0),
    "HIV infection": Diagnosis(
        (0.02, 0.02, 0.4, 0.6, 0.4, 0.1, 0.02), (0.02, 0.02, 1.1, 1.5, 1.1, 0.3, 0.05), 7.0, 900, 0.0
    ),
    "kidney stones": Diagnosis((0, 0.4, 3, 5, 5, 4, 2), (0, 0.4, 4, 9, 9, 6, 2), 2.0, 1100, -0.1),
    "schizophrenia": Diagnosis((0, 0.6, 3, 3, 2, 1, 0.5), (0, 0.8, 5, 4, 2, 1, 0.4), 21.0, 430, 0.0),
}

# The share of people with a missing value.
MISSING = {"age": 0.002, "sex": 0.001, "zip": 0.004, "occupation": 0.02, "diagnosis": 0.003, "cost": 0.01}

# Postcode areas (three digits) per first digit, and the skew of their sizes.
AREAS = {"0": 14, "1": 6, "2": 4}
POSTCODES_AN_AREA = 24
AREA_SKEW, POSTCODE_SKEW = 0.7, 0.9
