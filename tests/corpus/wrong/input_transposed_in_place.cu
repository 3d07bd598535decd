//!tilelab block=(256,1) grid=(1,1)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int n = Width * Width;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int r = i / Width, c = i % Width;
        if (c > r) {
            float t = N[r * Width + c];
            N[r * Width + c] = N[c * Width + r];
            N[c * Width + r] = t;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float s = 0;
        for (int k = 0; k < Width; ++k)
            s += M[i / Width * Width + k] * N[i % Width * Width + k];
        P[i] = s;
    }
}
