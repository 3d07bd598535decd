__global__ void rowSums(const float* M, float* Sums, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    const float* p = M + (long)r * n;
    float s = 0;
    for (const float* e = p + n; p < e; ++p) s += *p;
    Sums[r] = s;
}
