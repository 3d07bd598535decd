__global__ void threeWays(float* In, float* Out, int n, int rounds) {
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int i = blockIdx.x * blockDim.x + lane * 3 + warp;
    if (i >= n) return;
    float x = In[i];
    switch (warp) {
    case 0: for (int r = 0; r < rounds; r++) x += 1.0f; break;
    case 1: for (int r = 0; r < rounds; r++) x -= 1.0f; break;
    default: for (int r = 0; r < rounds; r++) x *= 2.0f;
    }
    Out[i] = x;
}
