struct Kind {
    double factor;
    float addend;
    const char* name;
};
__constant__ Kind kinds[3] = {{1, 1, "add"}, {1, -1, "subtract"}, {2, 0, "double"}};

__global__ void threeWays(float* In, float* Out, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const Kind& kind = kinds[i % 3];
    float value = In[i];
    for (int r = 0; r < rounds; ++r) value = value * (float)kind.factor + kind.addend;
    Out[i] = kind.name[0] == 0 ? 0 : value;
}
