// Only odd threads have put something into the array, and only they need it.
__global__ void vectorAdd(const float *A, const float *B, float *C, int n)
{
    __shared__ float kept[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float a = i < n ? A[i] : 0.0f;
    if (t % 2 == 1)
        kept[t] = a;
    float found = kept[t];
    if (t % 2 == 0 || found == a) {
        if (i < n)
            C[i] = a + B[i];
    }
}
