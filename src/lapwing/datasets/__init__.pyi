from .count_tables import CountTable as CountTable
from .count_tables import MonthTable as MonthTable
from .count_tables import load_departures as load_departures
from .count_tables import load_hours as load_hours
from .count_tables import load_income as load_income
from .count_tables import load_taxi as load_taxi
from .count_tables import load_taxi_months as load_taxi_months
