"""Operations of an opened table, one module for each subject: functions that the facade calls."""
