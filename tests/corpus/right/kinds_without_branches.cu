__global__ void threeWays(float* In, float* Out, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int kind = i % 3;
    float factor = kind == 2 ? 2.0f : 1.0f;
    float addend = kind == 0 ? 1.0f : kind == 1 ? -1.0f : 0.0f;
    float value = In[i];
    for (int r = 0; r < rounds; ++r) value = value * factor + addend;
    Out[i] = value;
}
