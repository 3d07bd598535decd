__global__ void threeWays(float* In, float* Out, int n, int rounds) {
    int kind = threadIdx.x;
    if (kind > 2) return;
    for (int i = 96 * blockIdx.x + kind; i < 96 * (blockIdx.x + 1); i += 3) {
        float value = In[i];
        for (int r = 0; r < rounds; ++r) value = kind == 0 ? value + 1 : kind == 1 ? value - 1 : value * 2;
        Out[i] = value;
    }
}
