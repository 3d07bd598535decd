__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float tile[256];
    unsigned int address = (unsigned int)__cvta_generic_to_shared(tile);
    unsigned int r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(address));
    P[threadIdx.x] = r;
}
